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

// Oplog reads the change log in the form of MongoDB's local.oplog.rs, as far as tools need it: one
// entry per change of a document or DDL command, with a ts of its own, op, ns, ui, o, o2 and wall. A
// transaction is one entry, a command applyOps, or several if it is large. Updates are shown in the
// form {$v: 2, diff: …}, or as a replacement if the record has the new document.
// Manual: core/replica-set-oplog.
type Oplog struct {
	s     *Stream
	begun bool
	group group
	time  storage.Timestamp // of the last entry
}

// Time is the ts of the entry that Next returned last.
func (o *Oplog) Time() storage.Timestamp { return o.time }

// OpenOplog opens the log at its first entry that is not before a time, or at its beginning if that
// is later.
// Errors: storage errors.
func OpenOplog(env *mql.Env, src Source, from storage.Timestamp) (*Oplog, error) {
	spec := &Spec{System: true, Expanded: true, Described: true, oldest: from <= 1}
	if !spec.oldest {
		_, err := src.Store.ReadLog(env.Context(), changelog.Stream, from-1, func(_, _ storage.Timestamp, _ []byte) bool { return false })
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

// Next returns the next entry, valid until the next call, or nil if there was none at the last pass over the log, as
// Stream.Next. Errors: ChangeStreamHistoryLost (286), changelog.ErrFormat, errors of env and of the store.
func (o *Oplog) Next(env *mql.Env) (bson.Raw, error) {
	s := o.s
	for {
		for s.at == len(s.items) {
			if !s.reachedEnd {
				if err := s.readLog(env); err != nil {
					return nil, err
				}
				if s.at < len(s.items) || s.moreInLog {
					continue
				}
			}
			if o.group.open() {
				return o.groupEntry(false), nil // the next call reports the end
			}
			s.reachedEnd = false
			return o.first(), nil
		}
		o.begun = true
		it := &s.items[s.at]
		rec, err := changelog.Decode(it.rec)
		if err != nil {
			return nil, err
		}
		if o.group.open() && it.ts != o.group.commit {
			return o.groupEntry(false), nil
		}
		if o.group.open() || o.inTransaction(it, &rec) {
			if !o.group.fits(it) {
				return o.groupEntry(true), nil
			}
			o.addToGroup(it, &rec)
			s.at++
			continue
		}
		s.at++
		b := &s.out
		b.begin()
		retryable := rec.Session != [16]byte{}
		if retryable {
			appendSession(b, rec.Session, rec.Owner, rec.TxnNumber)
		}
		o.operation(b, it, &rec)
		if retryable {
			b.Int32("stmtId", rec.StmtID)
		}
		o.tail(b, it.own, rec.Wall)
		return b.end(), nil
	}
}

// operation appends op, ns, ui, o and o2 of a record.
func (o *Oplog) operation(b *eventBuilder, it *item, rec *changelog.Record) {
	if it.cmd != nil {
		appendCommand(b, it.cmd)
		return
	}
	b.String("op", entryOps[rec.Op])
	b.String("ns", it.entry.ns.String())
	b.Binary("ui", 4, it.entry.uuid[:])
	o.body(b, it.entry, rec)
}

// tail appends the fields with which all entries end: the election term is always 1. wall is in
// milliseconds since 1970, 0 = unknown.
func (o *Oplog) tail(b *eventBuilder, ts storage.Timestamp, wall int64) {
	o.time = ts
	b.Timestamp("ts", ts.Seconds(), ts.Increment())
	b.Int64("t", 1)
	b.Int64("v", 2)
	if wall == 0 {
		wall = int64(ts.Seconds()) * 1000
	}
	b.DateTime("wall", wall)
}

// first returns an entry for an empty log, since tools expect one: a note of the time. It returns nil after the first
// call, and if the log was not opened at its beginning or an entry was read.
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
	o.tail(b, ts, 0)
	return b.end()
}

var entryOps = [...]string{changelog.Insert: "i", changelog.Update: "u", changelog.Replace: "u", changelog.Delete: "d"}

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

// Wait returns nil when Next may find more, otherwise the error that ended the wait.
func (o *Oplog) Wait(ctx context.Context) error { return o.s.Wait(ctx) }
