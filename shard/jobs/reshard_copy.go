package jobs

import (
	"bytes"
	"context"
	"errors"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// originValue encodes the position (hash) and the id of a record: the place of a document, as the entries of
// keyspace.OriginIndex hold it.
func originValue(h keyspace.Hash, id []byte) []byte {
	return keyspace.AppendUniqueValue(nil, h, id, nil)
}

// recordAt returns the key of a collection's record at a place.
func recordAt(id keyspace.CollectionID, place []byte) []byte {
	return keyspace.RecordSpan(id, place, nil).Start
}

// originKey returns the key of the entry that maps, while the copy is filled, a place in the old collection to one in the
// copy: the change log contains only the old place.
func (c *copying) originKey(place []byte) []byte {
	return keyspace.AppendUnique(nil, c.to.ID, keyspace.OriginIndex, 0, place)
}

// copy inserts all documents of one snapshot into the copy.
func (c *copying) copy() error {
	snap, err := c.r.Store.Snapshot(c.ctx, 0)
	if err != nil {
		return err
	}
	defer snap.Close()
	c.applied = snap.ReadTimestamp()
	it, err := snap.Iter(c.ctx, keyspace.RecordRange(c.from.ID), storage.IterOptions{FetchRows: batchRows})
	if err != nil {
		return err
	}
	defer it.Close()
	for part := new(rows); ; {
		if err := part.take(it, batchRows); err != nil || len(part.list) == 0 {
			return err
		}
		if err := storage.RetryConflicts(c.ctx, func() error { return c.copyRows(part) }); err != nil {
			return err
		}
		c.progress.done.Add(int64(len(part.list)))
		c.r.Step(stepCopying)
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		if c.r.Catalog.Peek().ByID(c.from.ID) == nil { // it was dropped
			return errDropped
		}
	}
}

// copyRows inserts documents into the copy, in one transaction.
func (c *copying) copyRows(part *rows) error {
	f, err := c.fill(false)
	if err != nil {
		return err
	}
	defer f.close()
	docs := make([]bson.Raw, len(part.list))
	for i := range part.list {
		docs[i] = part.list[i].doc
	}
	if err := f.fetchInserts(docs); err != nil {
		return err
	}
	for _, row := range part.list {
		if err := f.insert(originValue(row.hash, row.id), row.doc); err != nil {
			return err
		}
	}
	return f.commit()
}

// windowMax bounds the number of places of changed documents that catchUp takes from the change log before it applies
// them.
const windowMax = 1 << 16

// catchUp applies to the copy the changes of the old collection since the last call: it collects the places of
// changed documents from the change log, and copies these documents anew. At the last call writers are blocked.
func (c *copying) catchUp(last bool) error {
	for {
		dirty := c.waiting
		c.waiting = map[string]bool{}
		seen, full := storage.Timestamp(0), false
		next, err := c.r.Store.ReadLog(c.ctx, changelog.Stream, c.applied, func(ts, _ storage.Timestamp, rec []byte) bool {
			if full = len(dirty) >= windowMax && ts != seen; full {
				return false
			}
			seen = ts
			op, id, ok := changelog.Peek(rec)
			if ok && id == c.from.ID && op <= changelog.Delete {
				if h, id, ok := changelog.HashAndID(rec); ok {
					dirty[string(originValue(h, id))] = true
				}
			}
			return true
		})
		if err != nil {
			return err
		}
		if err := c.apply(dirty, last); err != nil {
			return err
		}
		c.applied = next
		if !full {
			return c.retryWaiting(last)
		}
	}
}

// retryWaiting retries, in the last round, the places whose documents could not be inserted into the copy because of
// a duplicate unique value, as long as that succeeds for some. A document that still cannot be inserted then is a
// real duplicate.
func (c *copying) retryWaiting(last bool) error {
	for n := math.MaxInt; last && len(c.waiting) > 0; {
		again := c.waiting
		if c.waiting = map[string]bool{}; len(again) >= n {
			return c.refuse(again)
		}
		n = len(again)
		if err := c.apply(again, last); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns the error for the client of the first of some places whose document cannot be copied; DuplicateKey if
// each of them alone can.
func (c *copying) refuse(places map[string]bool) error {
	for place := range places {
		f, err := c.fill(true)
		if err != nil {
			return err
		}
		doc, err := f.txn.Get(c.ctx, recordAt(c.from.ID, []byte(place)), nil)
		if err == nil {
			err = f.insert([]byte(place), doc)
		}
		f.close()
		if err != nil {
			return err
		}
	}
	return mongoerr.New(mongoerr.DuplicateKey, "documents of %s have unique values in common", c.from.Namespace)
}

// apply makes the copy agree with the old collection at some places: each is the position and id of a document in the
// old collection.
func (c *copying) apply(places map[string]bool, last bool) error {
	var list [][]byte
	for place := range places {
		list = append(list, []byte(place))
	}
	for len(list) > 0 {
		part := list[:min(len(list), batchRows)]
		list = list[len(part):]
		if err := storage.RetryConflicts(c.ctx, func() error { return c.applyBatch(part, last) }); err != nil {
			return err
		}
		c.progress.applied.Add(int64(len(part)))
	}
	return nil
}

// applyBatch makes the copy agree with the old collection at some places, in one transaction. It first removes the
// old documents and then inserts the new ones, so that values that move between documents do not conflict.
func (c *copying) applyBatch(places [][]byte, last bool) error {
	f, err := c.fill(last)
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.fetchPlaces(places); err != nil {
		return err
	}
	docs := make([]bson.Raw, len(places))
	for i, place := range places {
		if docs[i], err = f.take(place); err != nil {
			return err
		}
	}
	if err := f.fetchInserts(docs); err != nil {
		return err
	}
	for i, place := range places {
		if docs[i] == nil {
			continue
		}
		save, counts := f.txn.Savepoint(), f.counts()
		err := f.insert(place, docs[i])
		if e := (*mongoerr.Error)(nil); errors.As(err, &e) && e.Code == mongoerr.DuplicateKey {
			f.txn.RollbackTo(save)
			f.reset(counts)
			c.waiting[string(place)] = true
			continue
		}
		if err != nil {
			return err
		}
	}
	return f.commit()
}

// filling is one transaction that writes to the copy.
type filling struct {
	c       *copying
	txn     storage.Txn
	b       *batch
	meter   ratelimit.Meter
	targets map[shard.ID]*write.Target
}

// fill begins a transaction that writes to the copy, once the clients leave part of the collection's budget. If
// urgent, because writers wait, it begins at once.
func (c *copying) fill(urgent bool) (*filling, error) {
	if !urgent {
		if err := c.r.admit(c.ctx, c.from.ID); err != nil {
			return nil, err
		}
	}
	txn, err := c.r.Store.Begin(c.ctx, storage.TxnOptions{})
	if err != nil {
		return nil, err
	}
	if err := storage.Guard(c.ctx); err != nil {
		txn.Close()
		return nil, err
	}
	f := &filling{c: c, txn: txn, targets: map[shard.ID]*write.Target{}}
	f.b = &batch{r: c.r, env: c.r.env(c.ctx), coll: c.to, txn: txn}
	f.meter.Reset(uint64(c.from.ID), nil)
	f.b.env.Meter = &f.meter
	if err := f.b.env.Spend(batchBytes); err != nil {
		txn.Close()
		return nil, err
	}
	return f, nil
}

func (f *filling) close() {
	f.b.env.ReleaseSlot()
	f.txn.Close()
}

// target returns the write target of one of the copy's shards. It writes no change log records,
// because the data do not change for readers.
func (f *filling) target(d *shard.Descriptor) *write.Target {
	t := f.targets[d.ID]
	if t == nil {
		t = &write.Target{Coll: f.c.to, Shard: d, Txn: f.txn, Bypass: true, Silent: true, Multikey: f.c.markMultikey}
		f.targets[d.ID] = t
	}
	return t
}

// insert inserts into the copy the document at a place of the old collection, and an entry of keyspace.OriginIndex that maps
// this place to the new one. doc may alias an iterator.
func (f *filling) insert(place []byte, doc bson.Raw) error {
	to := f.c.to
	h, err := to.Position(doc)
	if err != nil {
		return err
	}
	if err := f.target(to.Home(doc, h)).Insert(f.b.env, doc, h); err != nil {
		return err
	}
	return f.txn.Set(f.c.originKey(place), originValue(h, to.AppendID(nil, doc)))
}

// take removes from the copy the document that came from a place, and returns the document to be
// inserted: nil if there is none at the place any more, or nothing changed.
func (f *filling) take(place []byte) (bson.Raw, error) {
	ctx, to := f.c.ctx, f.c.to
	now, err := f.txn.Get(ctx, recordAt(f.c.from.ID, place), nil)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, err
	}
	at, err := f.txn.Get(ctx, f.c.originKey(place), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return now, nil
	}
	if err != nil {
		return nil, err
	}
	key := recordAt(to.ID, at)
	old, err := f.txn.Get(ctx, key, nil)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(old, now) {
		return nil, nil
	}
	_, h, id, ok := keyspace.SplitRecord(key)
	if !ok {
		return nil, errors.Join(storage.ErrCorruption, errors.New(keyspace.Pretty(key)))
	}
	if err := f.target(to.Map.Find(h, id)).Delete(f.b.env, old, h); err != nil {
		return nil, err
	}
	return now, f.txn.Delete(f.c.originKey(place))
}

// counts returns the changes of the shards' counts in this transaction, and reset restores them, after the insertion
// of a document was rolled back.
func (f *filling) counts() map[shard.ID]tally.Count {
	out := make(map[shard.ID]tally.Count, len(f.targets))
	for id, t := range f.targets {
		out[id] = tally.Count{Docs: t.Docs, Bytes: t.Bytes}
	}
	return out
}

func (f *filling) reset(to map[shard.ID]tally.Count) {
	for id, t := range f.targets {
		t.Docs, t.Bytes = to[id].Docs, to[id].Bytes
	}
}

func (f *filling) commit() error {
	f.b.env.ReleaseSlot()
	if _, err := f.txn.Commit(f.c.ctx, storage.Buffered); err != nil {
		return err
	}
	for id, t := range f.targets {
		f.c.counts[id] = f.c.counts[id].Add(tally.Count{Docs: t.Docs, Bytes: t.Bytes})
	}
	f.c.r.Budgets.Charge(f.c.r.Now(), background, &f.meter)
	return nil
}

// markMultikey marks an index of the copy as containing the elements of arrays (multikey), in the copy's entry, which
// no reader uses yet.
func (c *copying) markMultikey(ix *catalog.Index, paths index.MultikeyPaths) error {
	for _, x := range c.to.Indexes {
		if x.ID == ix.ID {
			marked := *x
			marked.Multikey = x.Multikey.Union(paths)
			c.to = c.to.WithIndex(&marked)
		}
	}
	return nil
}
