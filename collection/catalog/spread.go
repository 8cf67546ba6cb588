package catalog

import (
	"context"
	"time"

	"github.com/cantledb/cantle/storage"
)

// A process goes by a change of the catalog from its commit on, others a little later. Nobody
// writes by it before all of them do. Otherwise one that does not know it yet, and whose own
// transaction begins after such a write, sees that and does not understand it: it deletes a
// document and leaves its entry in an index that is new, or misses one in an index that is gone,
// in a partition that was split off, in a copy under another shard key, under another name.
// With that order several processes are like one, in which a change comes to all at the same moment: what is
// written by it has a later time than every transaction that began without it.

// IsSpread reports that it is known that all processes over the store go by an entry or a newer one.
func (c *Catalog) IsSpread(coll *Collection) bool {
	if c.others == nil {
		return true
	}
	return coll.since <= storage.Timestamp(c.others.everywhere.Load())
}

// Spread waits until all processes over the store go by an entry or a newer one, or may do nothing
// any more. Errors: those of ctx and of the store.
func (c *Catalog) Spread(ctx context.Context, coll *Collection) error {
	if c.IsSpread(coll) {
		return nil
	}
	o := c.others
	select {
	case o.spreading <- struct{}{}:
		defer func() { <-o.spreading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	every := time.NewTicker(awaitEvery)
	defer every.Stop()
	for asked := false; !c.IsSpread(coll); {
		_, list, err := o.store.Members(ctx)
		switch {
		case err != nil:
			return err
		case !o.behind(list, coll.since, false):
			o.spread(coll.since)
			return nil
		case !asked:
			if err := c.want(ctx, coll.since); err != nil {
				return err
			}
			asked = true
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// spread notes that all others have applied what was changed up to a time.
func (o *others) spread(at storage.Timestamp) {
	for old := o.everywhere.Load(); uint64(at) > old && !o.everywhere.CompareAndSwap(old, uint64(at)); {
		old = o.everywhere.Load()
	}
}
