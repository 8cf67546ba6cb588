package cluster

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
)

// OplogNamespace is the namespace under which clients read the change log; the collection is not
// stored.
var OplogNamespace = collection.Namespace{DB: "local", Coll: "oplog.rs"}

// oplogOp is the operator that delivers the entries of the change log as the collection local.oplog.rs. Its end is
// not final: if more entries have come, the next call delivers them.
type oplogOp struct {
	c    *Cluster
	span span
	log  *changestream.Oplog // nil before the first row
	past bool                // an entry after the span was read, so the end is final
	row  exec.Row
}

// span holds the first and the last time of the change log entries that a query selects; 0 leaves that side open.
type span struct{ first, last storage.Timestamp }

// Next implements exec.Operator.
func (x *oplogOp) Next(env *mql.Env) (*exec.Row, error) {
	if x.past {
		return nil, nil
	}
	if x.log == nil {
		log, err := changestream.OpenOplog(env, x.c.changeSource(), x.span.first)
		if err != nil {
			return nil, err
		}
		x.log = log
	}
	doc, err := x.log.Next(env)
	if doc == nil || err != nil {
		return nil, err
	}
	if x.past = x.span.last != 0 && x.log.Time() > x.span.last; x.past {
		return nil, nil
	}
	x.row = exec.Row{Doc: doc}
	return &x.row, nil
}

// Explain implements exec.Operator.
func (x *oplogOp) Explain(b *bson.Builder, _ bool) { b.String("stage", "COLLSCAN") }

// Park implements exec.Operator. There is nothing to release, because the change log is open only during a poll.
func (x *oplogOp) Park() (int, bool) { return 0, true }

// Close implements exec.Operator.
func (x *oplogOp) Close() {}

// oplogSpan returns the span of the change log that can match the first stage of a pipeline,
// by its conditions on ts.
func oplogSpan(outline *agg.Outline) (x span) {
	x.narrow(outline.Filter())
	return x
}

// narrow limits the span to the times that a filter's conditions on the field ts allow, including those inside $and.
func (x *span) narrow(filter bson.Raw) {
	for it := filter.Iter(); it.Next(); {
		switch string(it.Name) {
		case "ts":
			if t, ok := timeOf(it.Value); ok {
				x.notBefore(t)
				x.notAfter(t)
				continue
			}
			d, _ := it.Value.Doc()
			for op, v := range d.Fields() {
				t, ok := timeOf(v)
				if !ok {
					continue
				}
				switch string(op) {
				case "$eq":
					x.notBefore(t)
					x.notAfter(t)
				case "$gt", "$gte":
					x.notBefore(t)
				case "$lt", "$lte":
					x.notAfter(t)
				}
			}
		case "$and":
			list, _ := it.Value.Array()
			for v := range list.Values() {
				d, _ := v.Doc()
				x.narrow(d)
			}
		}
	}
}

func (x *span) notBefore(t storage.Timestamp) { x.first = max(x.first, t) }

func (x *span) notAfter(t storage.Timestamp) {
	if x.last == 0 || t < x.last {
		x.last = max(t, 1)
	}
}

func timeOf(v bson.Value) (storage.Timestamp, bool) {
	t, i, ok := v.Timestamp()
	return storage.MakeTimestamp(t, i), ok
}

// OplogRange returns the time of the oldest entry of the change log, and the newest time of the store. If the log is
// empty, both are the latter.
// Errors: storage errors.
func (c *Cluster) OplogRange(ctx context.Context) (oldest, newest storage.Timestamp, err error) {
	newest = c.store.Latest()
	oldest = newest
	_, err = c.store.ReadLog(ctx, changelog.Stream, 0, func(ts, _ storage.Timestamp, _ []byte) bool {
		oldest = ts
		return false
	})
	return oldest, newest, err
}

// WaitOplog waits until the change log has grown since the stream, opened on OplogNamespace, reached its end; if the
// end is final, until ctx ends. It returns at once if the stream has not begun to read.
// Errors: the cause of ctx; storage.ErrClosed.
func (s *Stream) WaitOplog(ctx context.Context) error {
	if s.oplog == nil || s.oplog.log == nil {
		return nil
	}
	if s.oplog.past {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return s.oplog.log.Wait(ctx)
}
