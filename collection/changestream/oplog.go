package changestream

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
)

// Oplog reads the change log as MongoDB's local.oplog.rs, as far as tools need
// it: one entry per record, with ts, op, ns, ui, o, o2 and wall. The changes of
// a transaction are entries of their own with one ts and its lsid and txnNumber;
// updates are shown in the form {$v: 2, diff: …}, or as a replacement where the
// new document is known.
// Manual: core/replica-set-oplog.
type Oplog struct {
	s     *Stream
	begun bool
}

// OpenOplog opens the log at its first entry that is not before a time, or at its
// beginning if that is later.
// Errors: storage errors.
func OpenOplog(env *mql.Env, src Source, from storage.Timestamp) (*Oplog, error) {
	spec := &Spec{System: true, Expanded: true, oldest: from <= 1}
	if !spec.oldest {
		_, err := src.Store.ReadLog(env.Context(), changelog.Stream, from-1, func(storage.Timestamp, []byte) bool { return false })
		if spec.oldest = errors.Is(err, storage.ErrLogTruncated); err != nil && !spec.oldest {
			return nil, err
		}
		spec.HasStartAt, spec.StartAt = true, from
	}
	s, err := Open(env, src, collection.Namespace{}, spec)
	if err != nil {
		return nil, err
	}
	s.everything = true
	s.watch(env)
	return &Oplog{s: s, begun: !spec.oldest}, nil
}

// Next returns the next entry, valid until the next call, or nil when there is
// none now.
// Errors: those of env and of the store.
func (o *Oplog) Next(env *mql.Env) (bson.Raw, error) {
	s := o.s
	for s.at == len(s.items) {
		if err := s.look(env); err != nil {
			return nil, err
		}
		if s.at == len(s.items) && !s.behind {
			return o.first(), nil
		}
	}
	o.begun = true
	it := &s.items[s.at]
	s.at++
	rec, err := changelog.Decode(it.rec)
	if err != nil {
		return nil, err
	}
	b := &s.out
	b.begin()
	if rec.Multi {
		b.BeginDoc("lsid")
		b.Binary("id", 4, rec.Session[:])
		b.Binary("uid", 0, rec.Owner[:])
		b.End()
		b.Int64("txnNumber", rec.TxnNumber)
	}
	b.String("op", entryOps[rec.Op])
	if it.cmd != nil {
		for name, v := range rec.Doc.Fields() {
			if n := string(name); n == "ns" || n == "ui" || n == "o" || n == "o2" {
				b.ValueBytes(name, v)
			}
		}
	} else {
		b.String("ns", it.entry.ns.String())
		b.Binary("ui", 4, it.entry.uuid[:])
		o.body(b, it.entry, &rec)
	}
	b.Timestamp("ts", it.ts.Seconds(), it.ts.Increment())
	b.Int64("t", 1)
	b.Int64("v", 2)
	wall := rec.Wall
	if wall == 0 {
		wall = int64(it.ts.Seconds()) * 1000
	}
	b.DateTime("wall", wall)
	return b.end(), nil
}

// first is the entry of an empty log, since tools expect that there is one: a
// note of the time. Afterwards it is nil.
func (o *Oplog) first() bson.Raw {
	if o.begun {
		return nil
	}
	o.begun = true
	b, ts := &o.s.out, o.s.src.Store.Latest()
	b.begin()
	b.String("op", "n")
	b.String("ns", "")
	b.BeginDoc("o")
	b.String("msg", "initiating set")
	b.End()
	b.Timestamp("ts", ts.Seconds(), ts.Increment())
	b.Int64("t", 1)
	b.Int64("v", 2)
	b.DateTime("wall", int64(ts.Seconds())*1000)
	return b.end()
}

var entryOps = [...]string{changelog.Insert: "i", changelog.Update: "u", changelog.Replace: "u", changelog.Delete: "d", changelog.Command: "c"}

// body appends o and o2 of a changed document.
func (o *Oplog) body(b *eventBuilder, e *entry, rec *changelog.Record) {
	switch {
	case rec.Op == changelog.Delete:
		b.Raw("o", rec.Key)
		return
	case rec.Op == changelog.Update && rec.Doc == nil:
		b.BeginDoc("o")
		b.Int32("$v", 2)
		b.Raw("diff", diff(rec.Delta))
		b.End()
	default:
		b.Raw("o", rec.Doc)
	}
	b.BeginDoc("o2")
	appendDocumentKey(b, e, rec)
	b.End()
}

// Wait returns nil when Next may find more, or why the wait ended.
func (o *Oplog) Wait(ctx context.Context) error { return o.s.Wait(ctx) }
