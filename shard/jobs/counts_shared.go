package jobs

import (
	"context"

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
		if coll.IsView() || len(unsettled(coll.Map)) > 0 {
			continue
		}
		r.counts.pass.Lock()
		k := r.counts.entry(coll)
		var missing []*shard.Descriptor
		for _, d := range coll.Map.Shards() {
			if k.shards[d.ID] == nil {
				missing = append(missing, d)
			}
		}
		r.counts.pass.Unlock()
		if len(missing) == 0 {
			continue
		}
		snap, err := r.Store.Snapshot(ctx, 0)
		if err != nil {
			return err
		}
		defer snap.Close()
		found := known{id: coll.ID, epoch: coll.Map.Version().Epoch, at: snap.ReadTimestamp(), shards: map[shard.ID]tally.Count{}}
		for _, d := range missing {
			if found.shards[d.ID], err = scanCount(ctx, snap, coll.ID, d); err != nil {
				return err
			}
		}
		r.counts.learn(found)
		return nil
	}
	return nil
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
