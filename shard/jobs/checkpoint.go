package jobs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// counts is a second copy of the counts of documents and bytes of all shards, exact at one timestamp: it follows the
// change log, while the tally follows the writers. It is stored periodically, so that a start reads the stored counts
// and the change log after them. A checkpoint here is these stored counts, not a checkpoint of the store's files.
//
// A shard is identified by collection, epoch and id; its range never changes, so counts stay correct when other
// shards split or merge. Shards that have not been counted yet (children of a split, until they are scanned) are left
// out.
type counts struct {
	pass sync.Mutex // serialises checkpoints; guards the fields below

	at    storage.Timestamp // the change log was applied up to here
	saved storage.Timestamp // the timestamp of the last durable checkpoint
	colls map[keyspace.CollectionID]*counted
	log   logLength

	mu    sync.Mutex
	inbox []scanResult
}

// counted holds the counts of one collection.
type counted struct {
	epoch   uint64
	shards  map[shard.ID]*countedShard
	changed bool
}

type countedShard struct {
	tally.Count
	from storage.Timestamp // change log records up to here are included already
}

// scanResult is the result of a scan of some shards of a collection: their exact counts at a timestamp.
type scanResult struct {
	id     keyspace.CollectionID
	epoch  uint64
	at     storage.Timestamp
	shards map[shard.ID]tally.Count
}

// queueScan queues the result of a scan for the next checkpoint.
func (c *counts) queueScan(k scanResult) {
	if len(k.shards) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inbox = append(c.inbox, k)
}

func (c *counts) take() []scanResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.inbox
	c.inbox = nil
	return in
}

// Names of the meta keys: one for the timestamp, one per collection.
const (
	countsAt     = "tally"
	countsPrefix = "tally."
)

func countsAtKey() []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaCounter, []byte(countsAt))
}

func countsKey(id keyspace.CollectionID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaCounter, fmt.Appendf(nil, "%s%d", countsPrefix, id))
}

// followsPerCheckpoint is the number of times that the change log is read and applied to the counts between two
// checkpoints. Recent log records are read from memory. Once they are in tables only, which under a bulk load happens
// after two seconds, reading them took a tenth of the server's time and filled the block cache with blocks that no
// other reader needs.
const followsPerCheckpoint = 8

// checkpointLoop applies the change log to the counts while there are writes, and stores the counts periodically.
// Without peers it waits for the next commit after each checkpoint, so that it does not wake an idle process.
func (r *Runner) checkpointLoop(ctx context.Context) {
	ctx = r.asOwner(ctx, jobCounts)
	for step := 1; sleep(ctx, r.CheckpointEvery/followsPerCheckpoint, nil); step++ {
		due := step%followsPerCheckpoint == 0
		switch {
		case due && r.exclusive(): // this process makes every commit in the log, so WaitLog returns at the next one
			r.report("checkpoint", r.checkpoint(ctx, false))
			_ = r.Store.WaitLog(ctx, r.countedUpTo()) // after an error the loop continues by time
		case due:
			r.report("checkpoint", r.shareCounts(ctx))
		case r.Owners.Owns(jobCounts):
			r.report("checkpoint", r.catchUp(ctx))
		}
	}
}

// countedUpTo returns the timestamp up to which the log was applied.
func (r *Runner) countedUpTo() storage.Timestamp {
	r.counts.pass.Lock()
	defer r.counts.pass.Unlock()
	return r.counts.at
}

// catchUp applies the records that were added to the change log since the last call to the counts in memory.
func (r *Runner) catchUp(ctx context.Context) error {
	c := &r.counts
	c.pass.Lock()
	defer c.pass.Unlock()
	if r.Store.Durable() <= c.at {
		return nil
	}
	return c.advance(ctx, r)
}

// Checkpoint stores the present counts, durably.
func (r *Runner) Checkpoint(ctx context.Context) error {
	if err := r.Store.Sync(ctx); err != nil {
		return err
	}
	return r.checkpoint(ctx, true)
}

// checkpoint applies the records that were added to the change log since the last call, and stores the counts that
// changed, with the timestamp at which they are exact. With force, it stores a timestamp that is not durable yet even
// if no count changed, and waits until it is.
func (r *Runner) checkpoint(ctx context.Context, force bool) error {
	c := &r.counts
	c.pass.Lock()
	defer c.pass.Unlock()
	if err := c.advance(ctx, r); err != nil {
		return err
	}
	return r.store(ctx, force)
}

// advance puts the queued results of scans into the counts, and then applies the durable part of the change log that
// they do not contain yet. counts.pass is held.
func (c *counts) advance(ctx context.Context, r *Runner) error {
	if c.colls == nil {
		c.colls = map[keyspace.CollectionID]*counted{}
	}
	found := c.take()
	for i, k := range found {
		if err := r.install(ctx, k); err != nil {
			for _, k := range found[i:] {
				c.queueScan(k)
			}
			return err
		}
	}
	// The disk may fail in the middle of the log. The commits that were read completely by then are counted, and the
	// next pass continues after them.
	var open commitCounts
	next, err := r.follow(ctx, c.at, func(ts storage.Timestamp, rec *changelog.Record, size int) {
		if ts != open.ts {
			c.settle(&open)
			open.ts = ts
		}
		open.records = append(open.records, c.counted(r.Catalog.Peek(), ts, rec, size))
	})
	if err != nil {
		return err
	}
	c.settle(&open)
	c.at = next
	return nil
}

// commitCounts holds the changes of counts by the log records of one commit. They are applied together, once the
// whole commit has been read.
type commitCounts struct {
	ts      storage.Timestamp
	records []recordCount
}

// recordCount is the change that one record of the change log makes to the counts of a shard. If shard is nil, the
// record changes no count.
type recordCount struct {
	of    *counted
	shard *countedShard
	add   tally.Count
	size  int // of the record
}

// settle applies the changes of one whole commit to the counts, which are then exact at its timestamp.
func (c *counts) settle(open *commitCounts) {
	for _, r := range open.records {
		r.count()
		c.log.add(open.ts, r.size)
	}
	if len(open.records) > 0 {
		c.at = open.ts
	}
	open.records = open.records[:0]
}

// follow reads the durable part of the change log after a timestamp and calls visit for each record, with the
// record's timestamp and its size in bytes. rec is valid only until visit returns. The result is the timestamp up to
// which the log was read, from which the next call continues.
func (r *Runner) follow(ctx context.Context, after storage.Timestamp, visit func(ts storage.Timestamp, rec *changelog.Record, size int)) (storage.Timestamp, error) {
	var bad error
	var d changelog.Record // reused: each takes 300 bytes, and the log is long
	next, err := r.Store.ReadLog(ctx, changelog.Stream, after, func(ts, _ storage.Timestamp, rec []byte) bool {
		if d, bad = changelog.Decode(rec); bad != nil {
			return false
		}
		visit(ts, &d, len(rec))
		return true
	})
	return next, errors.Join(err, bad)
}

// count adds the change of a record to its shard.
func (r recordCount) count() {
	if r.shard != nil {
		r.shard.Count = r.shard.Add(r.add)
		r.of.changed = true
	}
}

// counted computes the change that one record of the change log, of size bytes, makes to the counts of its shard.
func (c *counts) counted(snap *catalog.Snapshot, ts storage.Timestamp, rec *changelog.Record, size int) recordCount {
	nothing := recordCount{size: size}
	if rec.Op > changelog.Delete {
		return nothing
	}
	coll := snap.ByID(rec.Collection)
	if coll == nil || coll.Map == nil {
		return nothing
	}
	k := c.entry(coll)
	d := coll.Map.Find(rec.Position, rec.ID)
	if s := k.shards[d.ID]; s != nil && ts > s.from {
		return recordCount{k, s, tally.Count{Docs: rec.Count(), Bytes: rec.Bytes}, size}
	}
	return nothing
}

// entry returns the counts of a collection, at first of no shard if its epoch is new. A collection in its first
// epoch without counts was created after the counts began to follow the change log, so its first shards began empty.
func (c *counts) entry(coll *catalog.Collection) *counted {
	epoch := coll.Map.Version().Epoch
	k := c.colls[coll.ID]
	if k != nil && k.epoch == epoch {
		return k
	}
	fresh := k == nil && epoch == 1
	k = &counted{epoch: epoch, shards: map[shard.ID]*countedShard{}, changed: true}
	if fresh {
		for _, d := range coll.Map.Shards() {
			if len(d.Parents) == 0 {
				k.shards[d.ID] = &countedShard{}
			}
		}
	}
	c.colls[coll.ID] = k
	return k
}

// install replaces the counts of some shards by the result of a scan. If the change log was applied beyond the time
// of the scan already, the records in between are read again and added.
func (r *Runner) install(ctx context.Context, n scanResult) error {
	c := &r.counts
	coll := r.Catalog.Peek().ByID(n.id)
	if coll == nil || coll.Map.Version().Epoch != n.epoch {
		return nil
	}
	k := c.entry(coll)
	for id, count := range n.shards {
		k.shards[id] = &countedShard{Count: count, from: n.at}
	}
	k.changed = true
	if n.at >= c.at {
		return nil
	}
	_, err := r.follow(ctx, n.at, func(ts storage.Timestamp, rec *changelog.Record, _ int) {
		if rec.Collection != n.id || rec.Op > changelog.Delete || ts > c.at {
			return
		}
		if d := coll.Map.Find(rec.Position, rec.ID); ts > n.at {
			if _, mine := n.shards[d.ID]; mine {
				s := k.shards[d.ID]
				s.Count = s.Add(tally.Count{Docs: rec.Count(), Bytes: rec.Bytes})
			}
		}
	})
	if err != nil {
		for id := range n.shards {
			delete(k.shards, id) // the counts are incomplete; the next start counts them
		}
	}
	if errors.Is(err, storage.ErrLogTruncated) {
		return nil
	}
	return err
}

// store writes the counts that changed, the timestamp at which they are exact, and the length of the change log, in
// one commit.
func (r *Runner) store(ctx context.Context, force bool) error {
	c := &r.counts
	snap := r.Catalog.Peek()
	txn, err := r.Store.Begin(ctx, storage.TxnOptions{Essential: true})
	if err != nil {
		return err
	}
	defer txn.Close()
	if err := storage.Guard(ctx); err != nil {
		return err
	}
	wrote := false
	for id, k := range c.colls {
		coll := snap.ByID(id)
		if coll == nil {
			delete(c.colls, id)
			wrote = true
			if err := txn.Delete(countsKey(id)); err != nil {
				return err
			}
			continue
		}
		for s := range k.shards {
			if coll.Map.Shard(s) == nil {
				delete(k.shards, s)
				k.changed = true
			}
		}
		if !k.changed {
			continue
		}
		wrote = true
		if err := txn.Set(countsKey(id), k.encode(c.at)); err != nil {
			return err
		}
	}
	if !wrote && (!force || c.saved == c.at) {
		return nil
	}
	if err := txn.Set(countsAtKey(), binary.BigEndian.AppendUint64(nil, uint64(c.at))); err != nil {
		return err
	}
	if err := txn.Set(logLengthKey(), c.log.encode()); err != nil {
		return err
	}
	how := storage.Buffered
	if force {
		how = storage.Synced
	}
	if _, err := txn.Commit(ctx, how); err != nil {
		return err
	}
	for _, k := range c.colls {
		k.changed = k.ahead(c.at)
	}
	if force {
		c.saved = c.at
	}
	return nil
}

// ahead reports whether a collection has counts from a scan at a later time than at, up to which the change log was
// applied. They are not stored until the log has been applied up to the scan.
func (k *counted) ahead(at storage.Timestamp) bool {
	for _, s := range k.shards {
		if s.from > at {
			return true
		}
	}
	return false
}

// encode returns the counts of a collection for the store, as {epoch: long, shards: [{id, docs, bytes}]}. It leaves
// out counts from scans later than at.
func (k *counted) encode(at storage.Timestamp) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int64("epoch", int64(k.epoch))
	b.BeginArray("shards")
	for id, s := range k.shards {
		if s.from > at {
			continue
		}
		b.BeginDoc("")
		b.Int64("id", int64(id))
		b.Int64("docs", s.Docs)
		b.Int64("bytes", s.Bytes)
		b.End()
	}
	b.End()
	return b.Doc()
}

func decodeCounted(v []byte) (*counted, error) {
	d, err := bson.Parse(v, bson.Limits{})
	if err != nil {
		return nil, err
	}
	epoch, _ := d.Get("epoch").Int64()
	k := &counted{epoch: uint64(epoch), shards: map[shard.ID]*countedShard{}}
	list, _ := d.Get("shards").Array()
	for e := range list.Values() {
		s, _ := e.Doc()
		id, _ := s.Get("id").Int64()
		n := &countedShard{}
		n.Docs, _ = s.Get("docs").Int64()
		n.Bytes, _ = s.Get("bytes").Int64()
		k.shards[shard.ID(id)] = n
	}
	return k, nil
}
