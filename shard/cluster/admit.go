package cluster

import (
	"context"
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
)

// settle charges the cost that the op's meter has counted since the last call to the budgets and the touched shard
// key values, adds it to the command's receipt, and clears the meter. For an unmetered op it does nothing. The shard key
// values and the caller of an operator's statement are not charged: it is no load of the application.
func (c *Cluster) settle(o *Op) {
	if o.Unmetered || o.meter.Empty() && len(o.touches.list) == 0 {
		return
	}
	o.Cap.Reclass(&o.class)
	class, now := o.class, c.Now()
	class.Operator = o.Class.Operator
	c.Budgets.Charge(now, class, &o.meter)
	if !class.Operator && o.meter.Collection() != 0 {
		pool := c.Budgets.Collection(o.meter.Collection())
		o.key.note(&o.touches)
		o.touches.charge(pool, &o.meter, o.Caller)
		pool.CountCaller(&o.meter, o.Caller, now)
	}
	o.Receipt.Merge(&o.meter)
	o.meter.Charged()
	o.meter.Reset(o.meter.Collection(), nil)
	o.meter.SetStrong(o.Strong)
	o.meter.SetCap(o.Cap)
}

// admit waits until the budgets of a collection and its shards let a statement start, or returns their refusal. A
// collection without a budget needs no admission.
func (c *Cluster) admit(o *Op, coll *catalog.Collection, shards []*shard.Descriptor, kind ratelimit.Kind) error {
	if limited, err := c.classify(o, coll, shards, kind); !limited || err != nil {
		return err
	}
	return c.admitScope(o.Env.Context(), o, scopeOf(coll, shards))
}

// admit admits a write on some shards, as Cluster.admit does for other statements. If the budget has server-side
// retry, an attempt on shards not admitted yet ends with *throttledWrite, which admits the write, perhaps after a
// wait, before the next attempt: a writer that waited with its pin on the catalog entry would delay every change of
// the catalog.
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

// classify sets the op's class (priority, throughput bucket and tenant), by which the budgets treat a statement on a
// collection, and reports whether the collection has a budget, so that the statement needs admission. A refusal that
// a test has injected is returned first, even where the statement would otherwise wait.
func (c *Cluster) classify(o *Op, coll *catalog.Collection, shards []*shard.Descriptor, kind ratelimit.Kind) (limited bool, err error) {
	if o.Class.Operator { // the command was admitted by the allowance of operators
		o.class = o.Class
		return false, nil
	}
	place := ratelimit.ShardID{Collection: uint64(coll.ID)}
	if len(shards) > 0 {
		place.Shard = int(shards[0].ID)
	}
	if t := c.Budgets.Injected(place, kind); t != nil {
		return false, t
	}
	pool := c.Budgets.Collection(uint64(coll.ID))
	o.class = pool.ClassOf(o.Class, o.AppName)
	if limits := pool.Tenants(); limits != nil {
		o.class.Tenant = o.tenant(coll, limits)
	}
	o.Cap.Reclass(&o.class)
	return pool.Limited() || pool.Shared(), nil
}

// admitScope waits until the budgets of a scope, a collection and some of its shards, admit the op's statement, or
// returns their refusal. It releases the op's processor slot, because the wait may be long, and adds the wait to
// Op.Waited.
func (c *Cluster) admitScope(ctx context.Context, o *Op, scope ratelimit.Scope) error {
	o.Env.ReleaseSlot()
	waited, err := c.Budgets.Enter(ctx, c.Now(), scope, o.class)
	o.Waited += waited
	o.noteRefusal(scope, err)
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

// throttledWrite is the error of an attempt of a write that must be admitted to a scope, a collection and its shards,
// before the next attempt, because admission may wait for request units.
type throttledWrite struct {
	c     *Cluster
	op    *Op
	scope ratelimit.Scope
}

// Error implements error.
func (u *throttledWrite) Error() string { return "the write waits for request units" }

// Wait implements delay: it waits until the scope admits the op. The next attempt on the same scope needs no further
// admission.
func (u *throttledWrite) Wait(ctx context.Context) error {
	if err := u.c.admitScope(ctx, u.op, u.scope); err != nil {
		return err
	}
	u.op.paid = &u.scope
	return nil
}
