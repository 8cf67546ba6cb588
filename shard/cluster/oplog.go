package cluster

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
)

// OplogNamespace is the change log as a collection that nobody stores.
var OplogNamespace = collection.Namespace{DB: "local", Coll: "oplog.rs"}

// oplogOp delivers the entries of the change log. Its end is not final: when
// more have come, the next call delivers them.
type oplogOp struct {
	c    *Cluster
	from storage.Timestamp   // entries before are not asked for
	log  *changestream.Oplog // nil before the first row
	row  exec.Row
}

// Next see exec.Operator.
func (x *oplogOp) Next(env *mql.Env) (*exec.Row, error) {
	if x.log == nil {
		log, err := changestream.OpenOplog(env, x.c.changeSource(), x.from)
		if err != nil {
			return nil, err
		}
		x.log = log
	}
	doc, err := x.log.Next(env)
	if doc == nil || err != nil {
		return nil, err
	}
	x.row = exec.Row{Doc: doc}
	return &x.row, nil
}

// Explain see exec.Operator.
func (x *oplogOp) Explain(b *bson.Builder, _ bool) { b.String("stage", "COLLSCAN") }

// Close see exec.Operator.
func (x *oplogOp) Close() {}

// oplogFrom is a time before which the first stage of a pipeline wants nothing of
// the change log: what it asks ts to be at least. 0 if it does not say.
func oplogFrom(stages []bson.Raw) (from storage.Timestamp) {
	if len(stages) == 0 {
		return 0
	}
	filter, _ := stages[0].Get("$match").Doc()
	return atLeast(filter)
}

// atLeast looks into the conditions on ts, and those that $and joins with others.
func atLeast(filter bson.Raw) (from storage.Timestamp) {
	for it := filter.Iter(); it.Next(); {
		switch string(it.Name) {
		case "ts":
			if t, ok := timeOf(it.Value); ok {
				from = max(from, t)
				continue
			}
			d, _ := it.Value.Doc()
			for _, op := range [...]string{"$eq", "$gt", "$gte"} {
				if t, ok := timeOf(d.Get(op)); ok {
					from = max(from, t)
				}
			}
		case "$and":
			list, _ := it.Value.Array()
			for v := range list.Values() {
				d, _ := v.Doc()
				from = max(from, atLeast(d))
			}
		}
	}
	return from
}

func timeOf(v bson.Value) (storage.Timestamp, bool) {
	t, i, ok := v.Timestamp()
	return storage.MakeTimestamp(t, i), ok
}

// OplogRange is the times of the oldest and the newest entry of the change log;
// both are the newest time there is when it has none.
// Errors: storage errors.
func (c *Cluster) OplogRange(ctx context.Context) (oldest, newest storage.Timestamp, err error) {
	newest = c.Store.Latest()
	oldest = newest
	_, err = c.Store.ReadLog(ctx, changelog.Stream, 0, func(ts storage.Timestamp, _ []byte) bool {
		oldest = ts
		return false
	})
	return oldest, newest, translate(err)
}

// WaitOplog waits until the change log has grown since the stream, opened on
// OplogNamespace, came to its end.
// Errors: what ended ctx; storage.ErrClosed.
func (s *Stream) WaitOplog(ctx context.Context) error {
	if s.oplog == nil || s.oplog.log == nil {
		return nil
	}
	return s.oplog.log.Wait(ctx)
}
