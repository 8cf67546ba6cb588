package ratelimit

import (
	"hash/maphash"
	"maps"
	"time"
)

// Tenants are the limits of the tenants of a collection: of the documents with one value of the first fields of the shard
// key. They bound the RU that tenants in one partition take from each other: each has a ceiling and a guarantee, both a
// part of the partition's RU/s.
//
//	ceiling    at most this part is used in a second; what exceeds it is a debt of the tenant
//	guarantee  this part is admitted also while the partition is used up; the partition then has a debt, which the
//	           requests without a guarantee pay off by waiting. So no RU are kept back for tenants that are idle.
//
// A Tenants value is immutable.
type Tenants struct {
	Fields  int // number of fields of the shard key that distinguish tenants
	Default TenantLimits
	Named   map[string]TenantLimits // by encoded value, instead of Default

	seed     maphash.Seed
	named    map[uint64]TenantLimits // Named, by Of
	reserved int64                   // sum of the guarantees in Named
}

// TenantLimits are the ceiling and the guarantee of a tenant in each partition, in parts of TenantWhole; 0 is none.
type TenantLimits struct{ Min, Max int64 }

// TenantWhole is all RU/s of a partition in TenantLimits.
const TenantWhole = 1_000_000

// tenantsMax is the number of tenants of a partition whose use a server remembers. A tenant that has sent no request
// for longest is forgotten first, with its debt.
const tenantsMax = 4096

// guaranteeSeconds is the number of seconds for which an unused guarantee is kept: a tenant whose requests come
// irregularly gets its guarantee on average. All guarantees without a name together exceed the balance of a partition
// by at most its RU/s in each second.
const guaranteeSeconds = 10

// guaranteeDebt is the debt, in seconds of the rate, up to which a server with peers covers guarantees beyond its share.
const guaranteeDebt = 2

// NewTenants returns the limits of tenants that the first fields of the shard key distinguish.
func NewTenants(fields int, standard TenantLimits, named map[string]TenantLimits) *Tenants {
	t := &Tenants{Fields: fields, Default: standard, Named: named, seed: maphash.MakeSeed(), named: make(map[uint64]TenantLimits, len(named))}
	for value, l := range named {
		t.named[t.Of([]byte(value))] = l
		t.reserved = min(TenantWhole, t.reserved+l.Min)
	}
	return t
}

// Of returns the number of a tenant for Class.Tenant, by its encoded value. It is not 0.
func (t *Tenants) Of(value []byte) uint64 { return max(1, maphash.Bytes(t.seed, value)) }

// equal reports whether two values have the same limits. Both may be nil.
func (t *Tenants) equal(o *Tenants) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.Fields == o.Fields && t.Default == o.Default && maps.Equal(t.Named, o.Named)
}

// SetTenants sets the limits of the tenants of a collection; nil for none.
func (p *Pool) SetTenants(t *Tenants) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tenants.Load().equal(t) {
		return
	}
	p.tenants.Store(t)
	for _, b := range p.set.Load().buckets {
		b.setTenants(t)
	}
}

// Tenants returns the limits of the tenants of a collection; nil if there are none.
func (p *Pool) Tenants() *Tenants { return p.tenants.Load() }

// setTenants sets the limits of tenants in a bucket, and forgets what they have used.
func (b *Bucket) setTenants(t *Tenants) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tenants = nil
	if t != nil {
		b.tenants = &tenantBudgets{rules: t, by: map[uint64]*tenantBudget{}}
	}
}

// tenantBudgets are the budgets of the tenants in one bucket, guarded by its mutex.
type tenantBudgets struct {
	rules          *Tenants
	by             map[uint64]*tenantBudget
	newest, oldest *tenantBudget // in the order of the last request
	second         int64
	active, before MicroRU // sum of the guarantees without a name of the tenants with requests in this second, in the last
	lent           MicroRU // what guarantees have taken in this second beyond the balance
}

// tenantBudget is the budget of one tenant in one bucket.
type tenantBudget struct {
	id           uint64
	newer, older *tenantBudget
	limits       TenantLimits
	named        bool
	second       int64   // to which the balances belong
	rate, share  MicroRU // RU/s of the ceiling and of the guarantee
	room, kept   MicroRU // left of the ceiling and of the guarantee; negative is a debt
}

// tenant returns the budget of a request's tenant, refilled to the second of the bucket; nil if it has none. The caller
// has rolled the bucket, and holds b.mu.
func (b *Bucket) tenant(c Class) *tenantBudget {
	x := b.tenants
	if x == nil || c.Tenant == 0 || c.Priority == Background {
		return nil
	}
	x.roll(b.second)
	t := x.by[c.Tenant]
	fresh := t == nil
	if fresh {
		t = x.add(c.Tenant)
	} else if t != x.newest {
		x.unlink(t)
		x.link(t)
	}
	if fresh || t.second != b.second {
		x.refill(b, t, fresh)
	}
	return t
}

// roll advances the sums to a second.
func (x *tenantBudgets) roll(second int64) {
	if second == x.second {
		return
	}
	if x.before = x.active; second != x.second+1 {
		x.before = 0
	}
	x.second, x.active, x.lent = second, 0, 0
}

// add adds a tenant, in place of the oldest if there are tenantsMax.
func (x *tenantBudgets) add(id uint64) *tenantBudget {
	if len(x.by) >= tenantsMax {
		gone := x.oldest
		x.unlink(gone)
		delete(x.by, gone.id)
	}
	t := &tenantBudget{id: id, limits: x.rules.Default}
	if l, ok := x.rules.named[id]; ok {
		t.limits, t.named = l, true
	}
	x.by[id] = t
	x.link(t)
	return t
}

// link makes a tenant the newest.
func (x *tenantBudgets) link(t *tenantBudget) {
	if t.newer, t.older = nil, x.newest; t.older != nil {
		t.older.newer = t
	} else {
		x.oldest = t
	}
	x.newest = t
}

// unlink removes a tenant from the order.
func (x *tenantBudgets) unlink(t *tenantBudget) {
	if t.newer != nil {
		t.newer.older = t.older
	} else {
		x.newest = t.older
	}
	if t.older != nil {
		t.older.newer = t.newer
	} else {
		x.oldest = t.newer
	}
}

// refill adds the seconds since the tenant's last request to its balances. A ceiling is a part of this server's share, so
// that it holds over all servers; a guarantee is a part of the whole rate, for a tenant whose requests all come here. If the
// guarantees of the tenants without a name exceed what those with a name leave, they shrink in proportion.
func (x *tenantBudgets) refill(b *Bucket, t *tenantBudget, fresh bool) {
	steps := b.second - t.second
	t.second = b.second
	if t.limits.Max > 0 {
		if t.rate = max(1, scale(int64(b.share), t.limits.Max, TenantWhole)); fresh {
			t.room = t.rate
		} else {
			t.room = min(t.rate, refill(t.room, t.rate, steps))
		}
	}
	if t.limits.Min > 0 {
		t.share = max(1, scale(int64(b.rate), t.limits.Min, TenantWhole))
		most := b.guaranteed()
		free := scale(int64(most), TenantWhole-x.rules.reserved, TenantWhole)
		if t.named {
			t.share = min(t.share, most)
		} else if x.active = addSaturating(x.active, t.share); max(x.active, x.before) > free {
			t.share = max(1, scale(int64(t.share), int64(free), int64(max(x.active, x.before))))
		}
		if fresh {
			t.kept = t.share
		} else {
			t.kept = min(guaranteeSeconds*t.share, refill(t.kept, t.share, steps))
		}
	}
}

// guaranteed returns the most that guarantees take in a second: the whole rate, because a debt of this server makes its
// share grow; but only this server's share while the debt is large, so that it grows no further.
func (b *Bucket) guaranteed() MicroRU {
	if b.balance > -guaranteeDebt*b.rate {
		return b.rate
	}
	return b.share
}

// untilCovered returns the time until the guarantee of a tenant admits a request; 0 means now, waitMax that there is
// none. t may be nil.
func (b *Bucket) untilCovered(now time.Time, t *tenantBudget, c Class) time.Duration {
	switch {
	case t == nil || t.limits.Min == 0 || c.Priority != High:
		return waitMax
	case !t.named && b.tenants.lent >= b.guaranteed(): // until the next second
		return b.untilAbove(now, min(0, t.kept), t.share, 0)
	}
	return b.untilAbove(now, t.kept, t.share, 0)
}

// untilBelowCeiling returns the time until the ceiling of a tenant admits a request; 0 means now. t may be nil.
func (b *Bucket) untilBelowCeiling(now time.Time, t *tenantBudget) time.Duration {
	if t == nil || t.limits.Max == 0 {
		return 0
	}
	return b.untilAbove(now, t.room, t.rate, 0)
}

// chargeTenant subtracts a charge from the balances of its tenant. debt is the part of the charge for which the bucket
// has not had a balance: it is paid from the guarantee, or becomes a debt of the tenant.
func (b *Bucket) chargeTenant(class Class, c, debt MicroRU) {
	t := b.tenant(class)
	if t == nil {
		return
	}
	if t.limits.Max > 0 {
		t.room = addSaturating(t.room, -c)
	}
	if t.limits.Min > 0 && class.Priority == High {
		covered := min(c, max(0, t.kept))
		t.kept = addSaturating(t.kept, -covered-max(0, debt-covered))
		b.tenants.lent = addSaturating(b.tenants.lent, min(debt, covered))
	}
}
