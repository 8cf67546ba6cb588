package cluster

import (
	"context"
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
)

// settle charges the cost of the statement to the budgets and adds it to the receipt.
func (c *Cluster) settle(o *Op) {
	if o.Unmetered || o.meter.Empty() && len(o.touches.list) == 0 {
		return
	}
	c.Budgets.Charge(c.Now(), o.class, &o.meter)
	if len(o.touches.list) > 0 {
		o.touches.charge(c.Budgets.Collection(o.meter.Collection()), &o.meter)
	}
	o.Receipt.Merge(&o.meter)
	o.meter.Reset(o.meter.Collection(), nil)
	o.meter.SetStrong(o.Strong)
}

// admit waits until the budgets let a statement start on the shards, or returns a refusal.
func (c *Cluster) admit(o *Op, coll *catalog.Collection, shards []*shard.Descriptor, kind ratelimit.Kind) error {
	if limited, err := c.classify(o, coll, shards, kind); !limited || err != nil {
		return err
	}
	return c.admitScope(o.Env.Context(), o, scopeOf(coll, shards))
}

// admit is Cluster.admit for a write. Where throttled statements wait, the
// attempt ends with *throttledWrite and the wait comes before the next attempt: a writer that
// waited with a pin would delay every change of the catalog.
func (a *attempt) admit(shards []*shard.Descriptor) error {
	if a.op.paid != nil {
		scope := scopeOf(a.coll, shards)
		if p := a.op.paid; p.Collection == scope.Collection && slices.Equal(p.Shards, scope.Shards) {
			return nil
		}
	}
	limited, err := a.c.classify(a.op, a.coll, shards, ratelimit.WriteKind)
	if !limited || err != nil {
		return err
	}
	scope := scopeOf(a.coll, shards)
	if a.c.Budgets.HasServerSideRetry(uint64(a.coll.ID)) {
		return &throttledWrite{a.c, a.op, scope}
	}
	return a.c.admitScope(a.op.Env.Context(), a.op, scope)
}

// classify determines the class by which the budgets treat a statement on a collection, and
// reports whether the statement needs admission at all. A refusal injected by a test comes
// first, even where the statement would otherwise wait.
func (c *Cluster) classify(o *Op, coll *catalog.Collection, shards []*shard.Descriptor, kind ratelimit.Kind) (limited bool, err error) {
	place := ratelimit.ShardID{Collection: uint64(coll.ID)}
	if len(shards) > 0 {
		place.Shard = int(shards[0].ID)
	}
	if t := c.Budgets.Injected(place, kind); t != nil {
		return false, t
	}
	pool := c.Budgets.Collection(uint64(coll.ID))
	o.class = pool.ClassOf(o.Class, o.AppName)
	return pool.Limited() || pool.Shared(), nil
}

// admitScope gets the admission of the budgets of a scope, which may take a while.
func (c *Cluster) admitScope(ctx context.Context, o *Op, scope ratelimit.Scope) error {
	o.Env.ReleaseSlot()
	waited, err := c.Budgets.Enter(ctx, c.Now(), scope, o.class)
	o.Waited += waited
	return err
}

// needsAdmission reports whether statements on a collection need to be admitted at all.
func (c *Cluster) needsAdmission(coll *catalog.Collection) bool {
	pool := c.Budgets.Collection(uint64(coll.ID))
	return pool.Limited() || pool.Shared()
}

func scopeOf(coll *catalog.Collection, shards []*shard.Descriptor) ratelimit.Scope {
	ids := make([]int, len(shards))
	for i, d := range shards {
		ids[i] = int(d.ID)
	}
	return ratelimit.Scope{Collection: uint64(coll.ID), Shards: ids}
}

// throttledWrite is the error of a write that has to wait for request units in a scope.
type throttledWrite struct {
	c     *Cluster
	op    *Op
	scope ratelimit.Scope
}

// Error implements error.
func (u *throttledWrite) Error() string { return "the write waits for request units" }

// Wait implements delay. After it the scope is paid, and the next attempt is admitted.
func (u *throttledWrite) Wait(ctx context.Context) error {
	if err := u.c.admitScope(ctx, u.op, u.scope); err != nil {
		return err
	}
	u.op.paid = &u.scope
	return nil
}
