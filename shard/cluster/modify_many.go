package cluster

import (
	"errors"
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
	// batchRows and batchBytes bound the documents that an updateMany, a deleteMany or a capped collection's trim
	// collects together.
	batchRows  = 256
	batchBytes = 4 << 20
)

// commits returns how many documents of a batch of an updateMany or deleteMany commit together, or share a savepoint in a
// transaction. Outside of a transaction they are below the command's cap, so that the changes before the cap stay.
func (c *Cluster) commits(o *Op, coll *catalog.Collection, batch []matchKey) int {
	if o.Txn != nil {
		return min(batchRows, len(batch))
	}
	return o.withinCap(coll, min(storage.CommitRows(c.store, batchRows), len(batch)), 2, func(i int) int { return batch[i].size })
}

// matchKey holds the position and the id of a document that an updateMany or deleteMany has matched.
type matchKey struct {
	hash keyspace.Hash
	id   []byte
	size int // bytes of the document
}

// modifyMany changes every match, in batches: keys are collected from a snapshot; each document is then read
// again, matched again and changed in a transaction. A document that was changed meanwhile and no longer
// matches is left alone. A document that moves in the index is not found twice, because the snapshot does not
// change. So each document is changed once, even if the collection gets another shard key meanwhile: see
// placesIn. A transaction reads its own writes, so there all keys are collected first.
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
		if err := o.Env.Pause(spacePause); err != nil {
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

// A delete of many documents that is refused for lack of disk space continues with a new snapshot, because
// the old one keeps the deleted documents on the disk.
const (
	deletesMax = 20          // consecutive refusals without a deletion after which the delete fails
	spacePause = time.Second // between two tries
)

// modifyMatches changes the documents that match in one snapshot, in batches, and returns how many were matched and
// changed.
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
		var batch []matchKey
		if batch, more, err = c.collect(o, s); err != nil {
			return r, err
		}
		c.settle(o)
		for len(batch) > 0 {
			part := batch[:c.commits(o, s.Coll, batch)]
			batch = batch[len(part):]
			done, err := c.changeBatch(o, s, ns, m, part)
			r.Matched += done.Matched
			r.Changed += done.Changed
			if err != nil {
				return r, err
			}
		}
		if more {
			// Each batch but the last waits until it is durable. Otherwise the write-ahead log grows faster than the
			// disk can take it, and the syncs of other commands have to write that backlog. The last batch is synced
			// with the whole command.
			o.Env.ReleaseSlot()
			if err := c.WaitDurable(o.Env.Context(), o); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// collectedMax bounds the keys that are collected for a transaction: a transaction that
// changes more documents is too large anyway.
const collectedMax = 1 << 20

// collect takes the keys of the next matches. In a transaction it takes those of all matches and closes the stream.
// more is false at the end of the stream. Errors: storage.ErrTxnTooLarge, the errors of a read.
func (c *Cluster) collect(o *Op, s *Stream) (out []matchKey, more bool, err error) {
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
		out = append(out, matchKey{row.Hash, append([]byte(nil), row.ID...), len(row.Doc)})
		size += len(row.Doc)
	}
	return out, true, nil
}

// placesIn returns the positions that the documents of a batch have in the present collection, which may have another
// shard key than when the stream found them. They are computed from the documents in the stream's snapshot; a
// document whose shard key was changed meanwhile is not found at such a position, and is left alone.
// Errors: QueryPlanKilled (175) if another collection has replaced the one that is read, by a drop, a rename or $out;
// the errors of a read.
func (s *Stream) placesIn(now *catalog.Collection, ns collection.Namespace, batch []matchKey) ([]matchKey, error) {
	if now == nil || now.IsView() || now.UUID != s.Coll.UUID || s.v == nil {
		return nil, mongoerr.New(mongoerr.QueryPlanKilled, "collection %s was dropped or renamed while its documents were changed", ns)
	}
	if now.ID == s.Coll.ID {
		return batch, nil
	}
	out := make([]matchKey, 0, len(batch))
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
		out = append(out, matchKey{h, now.AppendID(nil, doc), f.size})
	}
	return out, nil
}

// changeBatch changes, in one transaction, all documents of a batch that a stream has found, or none. It reads each
// again, and skips those that are gone or no longer match. Errors: the errors of Stream.placesIn and of a write.
func (c *Cluster) changeBatch(o *Op, from *Stream, ns collection.Namespace, m *Modify, batch []matchKey) (r Modified, err error) {
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
		a.c.begin(o, a.coll)
		o.reach.filter = filter
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
		return Modified{}, err // nothing of the batch is committed
	}
	return r, nil
}

func (c *Cluster) shardsOf(coll *catalog.Collection, batch []matchKey) []*shard.Descriptor {
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
