package catalog

import (
	"context"
	"time"

	"github.com/cantledb/cantle/storage"
)

// A server uses a change of the catalog from the change's commit on, its peers a little later. No
// server writes by a change before all peers have applied it. Otherwise a peer that has not applied
// it, and whose transaction begins after such a write, would read that write and misinterpret it: it
// would delete a document but leave its entry in a new index, or miss an entry in a dropped index, a
// document in a partition that was split off, in a copy under another shard key, or under another
// name. With this order several servers behave like one, where a change reaches all at the same
// moment: writes that use the change have a later time than every transaction that began without it.

// EntryAppliedByAll reports whether by their heartbeats all peers use an entry or a newer one.
func (c *Catalog) EntryAppliedByAll(coll *Collection) bool {
	if c.peers == nil {
		return true
	}
	return coll.since <= storage.Timestamp(c.peers.appliedByAll.Load())
}

// WaitEntryAppliedByAll waits until every peer uses an entry or a newer one, or has lost its lease.
// Errors: those of ctx and of the store.
func (c *Catalog) WaitEntryAppliedByAll(ctx context.Context, coll *Collection) error {
	if c.EntryAppliedByAll(coll) {
		return nil
	}
	o := c.peers
	select {
	case o.polling <- struct{}{}:
		defer func() { <-o.polling }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	every := time.NewTicker(awaitEvery)
	defer every.Stop()
	for asked := false; !c.EntryAppliedByAll(coll); {
		_, list, err := o.store.Members(ctx)
		switch {
		case err != nil:
			return err
		case !o.anyBehind(list, coll.since, false):
			o.setAppliedByAll(coll.since)
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

// setAppliedByAll records that all peers have applied the changes up to a time.
func (o *peerSync) setAppliedByAll(at storage.Timestamp) {
	for old := o.appliedByAll.Load(); uint64(at) > old && !o.appliedByAll.CompareAndSwap(old, uint64(at)); {
		old = o.appliedByAll.Load()
	}
}
