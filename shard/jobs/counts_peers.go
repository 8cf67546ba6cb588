package jobs

import (
	"context"
	"math"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/tally"
)

// shareCounts maintains the counts of documents over a store with several servers: the owner of the job follows the
// change log, counts the shards that have no counts, and stores the result, which its peers read. On each server the
// result replaces the counts that the server has made of its own writes.
func (r *Runner) shareCounts(ctx context.Context) error {
	had := r.Owners.Owns(jobCounts)
	mine := r.OwnsLoop(ctx, jobCounts)
	if !mine || !had { // a peer may have stored newer counts
		if err := r.readCounts(ctx); err != nil {
			return err
		}
	}
	if mine {
		if err := r.countUnknown(ctx); err != nil {
			return err
		}
		if err := r.checkpoint(ctx, false); err != nil {
			return err
		}
	}
	r.showCounts()
	return nil
}

// recountDocsMax bounds the documents of uncounted shards that one call of Recount reads.
const recountDocsMax = 20_000

// Recount makes the tally include everything committed on any server before the call, as far as shards have been
// counted. It reads the stored counts and the change log after them, and stores nothing.
// Errors: the errors of the store, ctx.Err().
func (r *Runner) Recount(ctx context.Context) error {
	if r.exclusive() {
		return nil // the tally has all commits
	}
	if !r.Owners.Owns(jobCounts) {
		if err := r.readCounts(ctx); err != nil {
			return err
		}
	}
	if err := r.followToNow(ctx); err != nil {
		return err
	}
	counted, err := r.countFew(ctx)
	if err == nil && counted {
		err = r.followToNow(ctx)
	}
	if err != nil {
		return err
	}
	r.showCounts()
	return nil
}

// countFew counts, by a scan, small shards that have not been counted yet, up to recountDocsMax documents together;
// the owner of the job counts the others later. It reports whether there were any.
func (r *Runner) countFew(ctx context.Context) (some bool, err error) {
	left := int64(recountDocsMax)
	for _, coll := range r.Catalog.Peek().Collections("") {
		missing := r.uncounted(coll)
		if len(missing) == 0 || left == 0 {
			continue
		}
		docs, err := r.countShards(ctx, coll, missing, left)
		if err != nil {
			return some, err
		}
		left -= docs
		some = true
	}
	return some, nil
}

// followToNow applies the change log to the counts up to the present time of the store. It waits for commits in
// flight that may be before that time.
func (r *Runner) followToNow(ctx context.Context) error {
	at, err := r.Store.Now(ctx)
	if err != nil {
		return err
	}
	c := &r.counts
	c.pass.Lock()
	defer c.pass.Unlock()
	for c.at < at {
		before := c.at
		if err := c.advance(ctx, r); err != nil {
			return err
		}
		if c.at == before { // commits that may get an earlier timestamp are in flight
			sleep(ctx, time.Millisecond, nil)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// readCounts reads the stored counts.
func (r *Runner) readCounts(ctx context.Context) error {
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer snap.Close()
	c := &r.counts
	c.pass.Lock()
	defer c.pass.Unlock()
	if stored, err := snap.Has(ctx, countsAtKey()); err != nil || !stored {
		return err // no counts are stored yet: those from the start are kept and follow the log
	}
	if err := r.loadCounts(ctx, snap); err != nil {
		return err
	}
	c.saved = c.at
	return nil
}

// countUnknown scans the shards of one collection that have not been counted, for example because peers have created
// them. The next checkpoint does the next collection.
func (r *Runner) countUnknown(ctx context.Context) error {
	for _, coll := range r.Catalog.Peek().Collections("") {
		if missing := r.uncounted(coll); len(missing) > 0 {
			_, err := r.countShards(ctx, coll, missing, math.MaxInt64)
			return err
		}
	}
	return nil
}

// uncounted returns the shards of a collection that have not been counted; none while its shards change.
func (r *Runner) uncounted(coll *catalog.Collection) (missing []*shard.Descriptor) {
	if coll.IsView() || len(unsettled(coll.Map)) > 0 {
		return nil
	}
	r.counts.pass.Lock()
	defer r.counts.pass.Unlock()
	k := r.counts.entry(coll)
	for _, d := range coll.Map.Shards() {
		if k.shards[d.ID] == nil {
			missing = append(missing, d)
		}
	}
	return missing
}

// countShards counts shards of a collection by a scan until the number of documents reaches most, queues the counts
// for the next checkpoint, and returns how many documents it read. Shards that were not scanned completely stay
// uncounted.
func (r *Runner) countShards(ctx context.Context, coll *catalog.Collection, list []*shard.Descriptor, most int64) (docs int64, err error) {
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	found := scanResult{id: coll.ID, epoch: coll.Map.Version().Epoch, at: snap.ReadTimestamp(), shards: map[shard.ID]tally.Count{}}
	for _, d := range list {
		n, all, err := scanCountUpTo(ctx, snap, coll.ID, d, most-docs)
		if err != nil {
			return docs, err
		}
		docs += n.Docs
		if all {
			found.shards[d.ID] = n
		}
	}
	r.counts.queueScan(found)
	return docs, nil
}

// showCounts copies the counts that follow the change log to the tally, which commands read, for collections whose
// shards are all counted.
func (r *Runner) showCounts() {
	c := &r.counts
	c.pass.Lock()
	defer c.pass.Unlock()
	for id, k := range c.colls {
		coll := r.Catalog.Peek().ByID(id)
		if coll == nil || coll.Map == nil || k.epoch != coll.Map.Version().Epoch {
			continue
		}
		all := map[shard.ID]tally.Count{}
		for _, d := range coll.Map.Shards() {
			if s := k.shards[d.ID]; s != nil {
				all[d.ID] = s.Count
			}
		}
		if len(all) == len(coll.Map.Shards()) {
			r.Tally.Of(id).Replace(all)
		}
	}
}
