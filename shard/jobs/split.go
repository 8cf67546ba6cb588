package jobs

import (
	"context"
	"errors"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Split replaces a shard by two that meet at the position at, which becomes the first of the right
// one. Reads and writes continue meanwhile.
// Errors: NamespaceNotFound (26), ShardNotFound, CannotSplit, the errors of Lock.
func (r *Runner) Split(ctx context.Context, ns collection.Namespace, id shard.ID, at shard.Position) error {
	return r.reshape(ctx, "Split", ns, func(m *shard.Map) (*shard.Map, error) { return m.Split(id, at) })
}

// Merge replaces two neighbours by one shard.
// Errors: NamespaceNotFound (26), ShardNotFound, BadValue, the errors of Lock.
func (r *Runner) Merge(ctx context.Context, ns collection.Namespace, a, b shard.ID) error {
	return r.reshape(ctx, "Merge", ns, func(m *shard.Map) (*shard.Map, error) { return m.Merge(a, b) })
}

// Move is MongoDB's chunk migration: it gives a shard another id, which none of the collection's
// shards has, so that clients see the chunk on another shard. No record and no index entry changes.
// Errors: NamespaceNotFound (26), ShardNotFound, BadValue, the errors of Lock.
func (r *Runner) Move(ctx context.Context, ns collection.Namespace, id, to shard.ID) error {
	return r.reshape(ctx, "Move Collection", ns, func(m *shard.Map) (*shard.Map, error) { return m.Move(id, to) })
}

// reshape changes the shard map of a collection and settles its shards.
// Errors: NamespaceNotFound (26), the errors of Lock and change.
func (r *Runner) reshape(ctx context.Context, kind string, ns collection.Namespace, change func(*shard.Map) (*shard.Map, error)) error {
	coll, unlock, err := r.LockNamed(ctx, ns)
	if err != nil {
		return err
	}
	defer unlock()
	id := coll.ID
	ctx = r.structure(ctx, id)
	p := r.begin(kind, ns, nil, r.size(id))
	defer r.end(p)
	if err := r.settleShards(ctx, id, p); err != nil { // what an earlier job left behind
		return notFound(err, ns)
	}
	if err := r.prepare(ctx, id, change); err != nil {
		return notFound(err, ns)
	}
	r.Step(stepPrepared)
	return notFound(r.settleShards(ctx, id, p), ns)
}

func notFound(err error, ns collection.Namespace) error {
	if errors.Is(err, errDropped) {
		return mongoerr.NoNamespace(ns.String())
	}
	return err
}

// prepare publishes the shard map that change makes from the present one, with new shards. From then on new index
// entries go to their newest partitions, and reads and deletes use all partitions.
func (r *Runner) prepare(ctx context.Context, id keyspace.CollectionID, change func(*shard.Map) (*shard.Map, error)) error {
	counts := r.Tally.Of(id)
	var ch tally.Change
	err := r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
		coll := m.Snapshot().ByID(id)
		if coll == nil {
			return errDropped
		}
		next, err := change(coll.Map)
		if err != nil {
			return err
		}
		counts.Undivide(ch) // of a try that ended with a conflict
		ch = difference(coll.Map, next)
		counts.Divide(ch)
		if err := logMoved(m, coll, ch); err != nil {
			return err
		}
		return m.Put(coll.With(func(c *catalog.Collection) { c.Map = next }))
	})
	if err != nil {
		counts.Undivide(ch)
		return err
	}
	r.provisionID(id)
	return nil
}

// provisionID divides a collection's budget over the shards it has now.
func (r *Runner) provisionID(id keyspace.CollectionID) {
	if coll := r.Catalog.Peek().ByID(id); coll != nil {
		r.Provision(coll)
	}
}

// difference compares two shard maps: it returns the shards of a that are not in b as parents, and those of b that
// are not in a as children.
func difference(a, b *shard.Map) (ch tally.Change) {
	for _, d := range a.Shards() {
		if b.Shard(d.ID) == nil {
			ch.Parents = append(ch.Parents, d.ID)
		}
	}
	for _, d := range b.Shards() {
		if a.Shard(d.ID) == nil {
			ch.Children = append(ch.Children, d.ID)
		}
	}
	return ch
}

// logMoved appends the record of a split, merge or move to the change log: {parents: [long], children: [long]}.
func logMoved(m *catalog.Mutation, coll *catalog.Collection, ch tally.Change) error {
	b := bson.NewBuilder(nil)
	appendIDs(b, "parents", ch.Parents)
	appendIDs(b, "children", ch.Children)
	rec := changelog.Record{Op: changelog.Moved, Collection: coll.ID, Doc: b.Doc()}
	return m.Txn().AppendLog(changelog.Stream, rec.Append(nil))
}

func appendIDs(b *bson.Builder, name string, ids []shard.ID) {
	b.BeginArray(name)
	for _, id := range ids {
		b.Int64("", int64(id))
	}
	b.End()
}

// settleShards settles the shards of a collection after splits and merges: afterwards all index entries are in the
// newest partitions, and all counts are exact. The caller holds the collection's Lock. It continues where an earlier
// call was interrupted, and does nothing if there is nothing to do.
func (r *Runner) settleShards(ctx context.Context, id keyspace.CollectionID, p *Progress) error {
	counts := r.Tally.Of(id)
	carried := counts.Carried()
	coll := r.Catalog.Peek().ByID(id)
	if coll == nil {
		return errDropped
	}
	moving := unsettled(coll.Map)
	if len(carried) == 0 && len(moving) == 0 {
		return nil
	}
	if err := r.Catalog.Drain(ctx, id); err != nil {
		return err
	}
	at, scanned, err := r.recount(ctx, coll, carried)
	if err != nil {
		return err
	}
	r.Step(stepCounted)
	for _, d := range moving {
		if err := r.settle(ctx, id, d, p); err != nil {
			return err
		}
	}
	r.Step(stepMoved)
	err = r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
		coll := m.Snapshot().ByID(id)
		if coll == nil {
			return errDropped
		}
		next := coll.Map
		for _, d := range moving {
			var err error
			if next, err = next.Settle(d.ID); err != nil {
				return err
			}
		}
		return m.Put(coll.With(func(c *catalog.Collection) { c.Map = next }))
	})
	if err != nil {
		return err
	}
	r.Step(stepSettled)
	// After this drain, all commits up to at, by writers with the old map, have been added to the tally.
	if err := r.Catalog.Drain(ctx, id); err != nil {
		return err
	}
	counts.Settle(carried, at, scanned)
	r.counts.queueScan(scanResult{id: id, epoch: coll.Map.Version().Epoch, at: at, shards: scanned})
	return nil
}

func unsettled(m *shard.Map) (out []*shard.Descriptor) {
	for _, d := range m.Shards() {
		if !d.Settled() {
			out = append(out, d)
		}
	}
	return out
}

// recount counts the documents of the children of splits and merges by a scan at one snapshot, and returns the counts
// with the time of the snapshot.
func (r *Runner) recount(ctx context.Context, coll *catalog.Collection, carried []tally.Change) (at storage.Timestamp, found map[shard.ID]tally.Count, err error) {
	found = map[shard.ID]tally.Count{}
	if len(carried) == 0 {
		return 0, found, nil
	}
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return 0, nil, err
	}
	defer snap.Close()
	for _, ch := range carried {
		for _, id := range ch.Children {
			d := coll.Map.Shard(id)
			if d == nil {
				continue // the shard was divided again before it was counted
			}
			if found[id], err = scanCount(ctx, snap, coll.ID, d); err != nil {
				return 0, nil, err
			}
		}
	}
	return snap.ReadTimestamp(), found, nil
}

// scanCount counts the documents of a shard and their bytes.
func scanCount(ctx context.Context, snap storage.Reader, id keyspace.CollectionID, d *shard.Descriptor) (n tally.Count, err error) {
	n, _, err = scanCountUpTo(ctx, snap, id, d, math.MaxInt64)
	return n, err
}

// scanCountUpTo counts the documents and bytes of a shard as scanCount does, but stops at most documents; all is
// false if the shard has more.
func scanCountUpTo(ctx context.Context, snap storage.Reader, id keyspace.CollectionID, d *shard.Descriptor, most int64) (n tally.Count, all bool, err error) {
	it, err := snap.Iter(ctx, keyspace.RecordSpan(id, d.Lo, d.Hi), storage.IterOptions{})
	if err != nil {
		return n, false, err
	}
	defer it.Close()
	for it.Next() {
		if n.Docs == most {
			return n, false, nil
		}
		n.Docs++
		n.Bytes += int64(len(it.Value()))
		if n.Docs&1023 == 0 && ctx.Err() != nil {
			return n, false, context.Cause(ctx)
		}
	}
	return n, true, it.Err()
}

// settle moves the index entries of a shard's documents into the shard's newest partition, index by index.
func (r *Runner) settle(ctx context.Context, id keyspace.CollectionID, d *shard.Descriptor, p *Progress) error {
	coll := r.Catalog.Peek().ByID(id)
	if coll == nil {
		return errDropped
	}
	for _, ix := range coll.Indexes {
		if ix.ID == coll.IDIndex().ID && !coll.PhysicalID() {
			continue
		}
		for _, from := range d.Partitions[:len(d.Partitions)-1] {
			if err := r.moveEntries(ctx, coll, ix, d, from, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveEntries moves the entries of a shard's documents in one index from one partition to the shard's newest
// partition, in batches.
func (r *Runner) moveEntries(ctx context.Context, coll *catalog.Collection, ix *catalog.Index, d *shard.Descriptor, from keyspace.PartitionID, p *Progress) error {
	all := keyspace.PartitionRange(coll.ID, ix.ID, from)
	owner := ownerOf(coll, ix)
	var meter ratelimit.Meter
	var keys [][]byte
	for start := all.Start; start != nil; {
		var next []byte
		err := r.commit(ctx, coll.ID, &meter, storage.TxnOptions{Essential: true}, func(b *batch) (err error) {
			keys, next = nil, nil
			if b.coll.Index(ix.Name) == nil {
				return nil // dropped meanwhile
			}
			keys, next, err = entriesOf(b, storage.Range{Start: start, End: all.End}, owner, d)
			if err != nil {
				return err
			}
			if err := fetch(ctx, b.txn, func() ([][]byte, error) { return keys, nil }); err != nil {
				return err
			}
			for _, key := range keys {
				v, err := b.txn.Get(ctx, key, nil)
				if err != nil {
					return err
				}
				to := keyspace.AppendEntryPrefix(nil, coll.ID, ix.ID, d.Newest())
				to = append(to, key[len(to):]...)
				if err := b.txn.Set(to, v); err != nil {
					return err
				}
				if err := b.txn.Delete(key); err != nil {
					return err
				}
			}
			b.env.Meter.Terms(int(d.ID), int64(len(keys)), int64(len(keys)))
			return nil
		})
		if err != nil {
			return err
		}
		p.done.Add(int64(len(keys)))
		r.Step(stepMoving)
		start = next
	}
	return nil
}

// entriesOf returns the keys of index entries in a range whose records are in the shard d: at most b.rows, of at most
// 16*batchRows entries read. next is the key at which to continue, nil at the end. owner decodes the record of an
// entry.
func entriesOf(b *batch, within storage.Range, owner func(key, value []byte) (keyspace.Hash, []byte, bool), d *shard.Descriptor) (keys [][]byte, next []byte, err error) {
	it, err := b.txn.Iter(b.env.Context(), within, storage.IterOptions{FetchRows: batchRows})
	if err != nil {
		return nil, nil, err
	}
	defer it.Close()
	for seen := 0; it.Next(); seen++ {
		if len(keys) >= b.rows || seen >= 16*batchRows {
			return keys, append([]byte(nil), it.Key()...), nil
		}
		h, id, ok := owner(it.Key(), it.Value())
		if !ok {
			return nil, nil, errors.Join(storage.ErrCorruption, errors.New(keyspace.Pretty(it.Key())))
		}
		if d.Owns(h, id) {
			keys = append(keys, append([]byte(nil), it.Key()...))
		}
	}
	return keys, nil, it.Err()
}

// ownerOf returns a function that decodes the hash and id of the record to which an index entry
// belongs.
func ownerOf(coll *catalog.Collection, ix *catalog.Index) func(key, value []byte) (keyspace.Hash, []byte, bool) {
	if ix.Unique {
		parts := coll.IDParts()
		return func(_, value []byte) (keyspace.Hash, []byte, bool) {
			h, id, _, ok := keyspace.SplitUniqueValue(value, parts, skipAscending)
			return h, id, ok
		}
	}
	width, skip := ix.Width(), skipper(ix)
	return func(key, _ []byte) (keyspace.Hash, []byte, bool) {
		_, h, id, ok := keyspace.SplitEntry(key, width, skip)
		return h, id, ok
	}
}

// skipper returns a function that returns the length of the next keystring in an index entry: in turn those of all
// the fields of the index, and then again from the first; -1 for an invalid one.
func skipper(ix *catalog.Index) keyspace.Skipper {
	dirs, at := ix.Dirs(), 0
	return func(b []byte) int {
		n, err := keystring.Skip(b, dirs[at])
		if at++; at == len(dirs) {
			at = 0
		}
		if err != nil {
			at = 0
			return -1
		}
		return n
	}
}

func skipAscending(b []byte) int {
	n, err := keystring.Skip(b, keystring.Ascending)
	if err != nil {
		return -1
	}
	return n
}
