package daemon

import (
	"context"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/auth"
)

// follow takes over what other servers over the same store change, if there can be any. A change
// of users is done when all servers know it.
func (d *Daemon) follow(ctx context.Context, cat *catalog.Catalog, definer *ddl.Definer, users *auth.Directory) {
	if storage.AsShared(d.store) == nil {
		return
	}
	d.cluster.Tally.Doubt() // it does not know what others write
	cat.OnFollowed(func(before, now *catalog.Snapshot) {
		for _, coll := range before.Collections("") {
			same := now.ByID(coll.ID)
			if same == nil || same.Namespace != coll.Namespace {
				d.poison(coll.Namespace)
			}
			if same == nil && !coll.IsView() {
				d.cluster.Budgets.Drop(uint64(coll.ID))
				d.cluster.Tally.Drop(coll.ID)
			}
		}
		definer.RestoreBudgets()
	})
	users.Everywhere = cat.Everywhere
	cat.OnTopic(auth.Topic, users.Reload)
	d.loop(ctx, cat.Follow)
}

// poison ends the cursors on a collection that is gone.
func (d *Daemon) poison(ns collection.Namespace) {
	d.cursors.Poison(ns, mongoerr.New(mongoerr.QueryPlanKilled, "collection %s was dropped or renamed while the cursor was open", ns))
}

// dropUnfinished drops what an earlier process was filling, unless another one uses the store
// and may be filling it.
func (d *Daemon) dropUnfinished(ctx context.Context, definer *ddl.Definer) error {
	if shared := storage.AsShared(d.store); shared != nil {
		if _, list, err := shared.Members(ctx); err != nil || len(list) > 1 {
			return err
		}
	}
	return definer.DropUnfinished(ctx)
}
