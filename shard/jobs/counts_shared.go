package jobs

import (
	"context"
	"math"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/tally"
)

// shareCounts keeps the counts where several processes write: the one whose duty it is follows
// the change log, counts what nobody has counted and stores that; the others read it. What
// they have counted of their own writes is replaced by that each time.
func (r *Runner) shareCounts(ctx context.Context) error {
	had := r.Duties.Has(dutyCounts)
	mine := r.Turn(ctx, dutyCounts)
	if !mine || !had { // another one may have stored something newer than what is here
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

// recountDocsMax is how many documents one call of Recount reads of shards that nobody has counted.
const recountDocsMax = 20_000

// Recount makes the tally what was committed anywhere before the call, as far as shards have been counted:
// what was stored a moment ago, and the change log since. It costs that and stores nothing.
// Errors: those of the store.
func (r *Runner) Recount(ctx context.Context) error {
	if r.Duties == nil {
		return nil
	}
	if !r.Duties.Has(dutyCounts) {
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

// countFew counts shards that nobody has counted yet, which one server does in time, as long as they are
// small. It reports that there were some.
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

// followToNow applies the log up to the present time.
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
		if c.at == before { // commits that may be before it are under way
			sleep(ctx, time.Millisecond, nil)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// readCounts takes the counts that are stored.
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
		return err // what was found at the start is followed from there
	}
	if err := r.loadCounts(ctx, snap); err != nil {
		return err
	}
	c.saved = c.at
	return nil
}

// countUnknown scans the shards of one collection whose counts are not known: others have made
// them. It is done again for the next one two seconds later.
func (r *Runner) countUnknown(ctx context.Context) error {
	for _, coll := range r.Catalog.Peek().Collections("") {
		if missing := r.uncounted(coll); len(missing) > 0 {
			_, err := r.countShards(ctx, coll, missing, math.MaxInt64)
			return err
		}
	}
	return nil
}

// uncounted are the shards of a collection whose counts are not known; none while it is changed.
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

// countShards scans shards that have at most so many documents together, and returns how many these
// are; what is left keeps unknown.
func (r *Runner) countShards(ctx context.Context, coll *catalog.Collection, list []*shard.Descriptor, most int64) (docs int64, err error) {
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	found := known{id: coll.ID, epoch: coll.Map.Version().Epoch, at: snap.ReadTimestamp(), shards: map[shard.ID]tally.Count{}}
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
	r.counts.learn(found)
	return docs, nil
}

// showCounts makes the tally what the counts are, for collections of which all is known.
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
