package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

const (
	// batchRows and batchBytes bound how many documents of an updateMany or deleteMany are looked for together.
	batchRows  = 256
	batchBytes = 4 << 20
)

// commits is how many documents commit together, or in a transaction have a savepoint.
func (c *Cluster) commits(o *Op) int {
	if o.Txn != nil {
		return batchRows
	}
	return storage.CommitRows(c.Store, batchRows)
}

// found is a matched document of a multi statement: where it lies.
type found struct {
	hash keyspace.Hash
	id   []byte
}

// modifyMany changes every match, some at a time: keys are collected from a
// snapshot; each document is then read again, matched again and changed in a
// transaction. A document changed meanwhile so that it no longer matches is
// left alone; one that moves in the index is not met twice, because the
// snapshot does not move. So each is changed once also when the collection gets another
// shard key meanwhile: see placesIn. A transaction reads what it writes, so there all keys
// are collected first.
func (c *Cluster) modifyMany(o *Op, ns collection.Namespace, m *Modify) (r Modified, err error) {
	for refused := 0; ; refused++ {
		done, err := c.modifyMatches(o, ns, m)
		r.Matched += done.Matched
		r.Changed += done.Changed
		if err == nil {
			break
		}
		if done.Changed > 0 {
			refused = 0
		}
		if m.Update != nil || o.Txn != nil || !errors.Is(err, storage.ErrDiskFull) || refused == deletesMax {
			return r, err
		}
		if err := c.awaitRoom(o); err != nil {
			return r, err
		}
	}
	if r.Matched == 0 && m.Upsert {
		one := *m
		one.Multi = false
		return c.modifyOne(o, ns, &one)
	}
	return r, nil
}

// A delete of many that is refused for lack of room goes on with a new snapshot, as the one that it had keeps
// what it has deleted on the disk.
const (
	deletesMax = 20          // refusals one after another, of which none deleted anything, are the end
	roomPause  = time.Second // between them
)

// awaitRoom waits before a delete is tried again on a full disk. Errors: the context's cause.
func (c *Cluster) awaitRoom(o *Op) error {
	o.Env.Pause()
	select {
	case <-o.Env.Context().Done():
		return context.Cause(o.Env.Context())
	case <-time.After(roomPause):
		return nil
	}
}

// modifyMatches changes the matches of one snapshot.
func (c *Cluster) modifyMatches(o *Op, ns collection.Namespace, m *Modify) (r Modified, err error) {
	s, err := c.FindInside(o, ns, m.Find)
	if err != nil {
		return r, err
	}
	defer s.Close()
	if err := checkTargeted(o.Env, s.query, cosmos.UntargetedManyWrites); err != nil {
		return r, err
	}
	for more := true; more; {
		var batch []found
		if batch, more, err = c.collect(o, s); err != nil {
			return r, err
		}
		c.settle(o)
		for part := range slices.Chunk(batch, c.commits(o)) {
			done, err := c.changeBatch(o, s, ns, m, part)
			r.Matched += done.Matched
			r.Changed += done.Changed
			if err != nil {
				return r, err
			}
		}
		if more {
			// Else the log of writes grows faster than the disk takes it, and the syncs for which others
			// wait have all of that to write. The last batch is synced with the whole command.
			o.Env.Pause()
			if err := c.Harden(o.Env.Context(), o); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// collectedMax bounds the keys that are collected for a transaction: one that
// changes so many documents is too large anyway.
const collectedMax = 1 << 20

// collect takes the keys of the next matches; of all in a transaction, and closes
// the stream then. more is false at the end of the stream.
// Errors: storage.ErrTxnTooLarge.
func (c *Cluster) collect(o *Op, s *Stream) (out []found, more bool, err error) {
	size := 0
	if o.Txn != nil {
		defer s.Close()
	}
	for o.Txn != nil || len(out) < batchRows && size < batchBytes {
		if len(out) == collectedMax {
			return nil, false, storage.ErrTxnTooLarge
		}
		row, err := s.Next(o.Env)
		if err != nil {
			return nil, false, err
		}
		if row == nil {
			return out, false, nil
		}
		out = append(out, found{row.Hash, append([]byte(nil), row.ID...)})
		size += len(row.Doc)
	}
	return out, true, nil
}

// placesIn returns the places of documents in the collection as it is now, which may have got
// another shard key since the stream found them. They follow from the documents in the snapshot;
// a document whose key was changed meanwhile is not found there and left alone.
// Errors: QueryPlanKilled (175) when another collection replaced the one that is read, by a drop,
// a rename or $out; those of a read.
func (s *Stream) placesIn(now *catalog.Collection, ns collection.Namespace, batch []found) ([]found, error) {
	if now == nil || now.IsView() || now.UUID != s.Coll.UUID || s.v == nil {
		return nil, mongoerr.New(mongoerr.QueryPlanKilled, "collection %s was dropped or renamed while its documents were changed", ns)
	}
	if now.ID == s.Coll.ID {
		return batch, nil
	}
	out := make([]found, 0, len(batch))
	var key []byte
	for _, f := range batch {
		key = keyspace.AppendRecord(key[:0], s.Coll.ID, f.hash, f.id)
		doc, err := s.v.reader.Get(s.op.Env.Context(), key, nil)
		if err != nil {
			return nil, err
		}
		h, err := now.Position(doc)
		if err != nil {
			return nil, err
		}
		out = append(out, found{h, now.AppendID(nil, doc)})
	}
	return out, nil
}

// changeBatch changes, in one transaction, documents that a stream has found: all or none.
// Errors: those of Stream.placesIn.
func (c *Cluster) changeBatch(o *Op, from *Stream, ns collection.Namespace, m *Modify, batch []found) (r Modified, err error) {
	defer c.settle(o)
	err = c.write(o, ns, func(a *attempt) error {
		r = Modified{}
		batch := batch
		if a.coll == nil || a.coll.ID != from.Coll.ID {
			var err error
			if batch, err = from.placesIn(a.coll, ns, batch); err != nil {
				return err
			}
		}
		filter, err := match.Parse(o.Env, m.Find.Filter)
		if err != nil {
			return err
		}
		filter = plan.BindText(a.coll, filter)
		o.begin(a.coll)
		if err := a.admit(c.shardsOf(a.coll, batch)); err != nil {
			return err
		}
		if err := a.begin(); err != nil {
			return err
		}
		var s expr.Scratch
		defer s.Close()
		var key []byte
		for _, f := range batch {
			if err := o.Env.Spend(storage.ChangeBytes); err != nil {
				return err
			}
			key = keyspace.AppendRecord(key[:0], a.coll.ID, f.hash, f.id)
			v, err := a.txn.Get(o.Env.Context(), key, nil)
			if isNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			s.Reset()
			if ok, err := filter.Matches(o.Env, v, &s); err != nil {
				return err
			} else if !ok {
				continue
			}
			r.Matched++
			if err := a.change(filter, m, &exec.Row{Doc: v, Hash: f.hash, ID: f.id}, &r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Modified{}, err // nothing of the batch is there
	}
	return r, nil
}

func (c *Cluster) shardsOf(coll *catalog.Collection, batch []found) []*shard.Descriptor {
	var out []*shard.Descriptor
	for _, f := range batch {
		d := coll.Map.Find(f.hash, f.id)
		known := false
		for _, x := range out {
			known = known || x == d
		}
		if !known {
			out = append(out, d)
		}
	}
	return out
}
