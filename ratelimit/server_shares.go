package ratelimit

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// serverShares holds what the pools of a Budgets share: the number of servers over one store that share the budgets, 0 for one
// server, and whether there are default caps.
type serverShares struct {
	servers atomic.Int32
	joining atomic.Bool // this server has received no share yet: its peers have the whole budgets
	capped  atomic.Bool // a pool has had defaultCaps
}

// newBucket creates a bucket.
func (d *serverShares) newBucket() *Bucket {
	b := &Bucket{}
	if d != nil {
		b.servers, b.hasShare = int(d.servers.Load()), !d.joining.Load()
	}
	return b
}

// BudgetID identifies a bucket with a limit; it is the same on all servers, which exchange their demands by it.
type BudgetID struct {
	Database   string // of shared throughput, or ""
	Collection uint64 // if there is no database; 0 is the budget of metadata commands
	Shard      int
}

func (p BudgetID) compare(q BudgetID) int {
	return cmp.Or(cmp.Compare(p.Database, q.Database), cmp.Compare(p.Collection, q.Collection), cmp.Compare(p.Shard, q.Shard))
}

// Demand is the need of one server for a bucket since the last call of Budgets.TakeDemand; by the demands of all
// servers the rate of the bucket is divided.
type Demand struct {
	BudgetID
	Spent      MicroRU
	Foreground MicroRU // of Spent, without the class Background
	Wanted     MicroRU // Spent, plus refusedWeight times the expected price of refused and queued requests, plus the debt; at most the rate
	Unused     MicroRU // part of the shares that was not used and is lost
}

// refusedWeight is the factor by which the expected price of a refused or queued request counts as demand: its client
// was held back, and has more requests to send.
const refusedWeight = 2

// demand accumulates what happened at one bucket since the last Budgets.TakeDemand, which computes the Demand.
type demand struct {
	spent, foreground MicroRU
	charges, refused  int64
	unused            MicroRU
}

func (n *demand) charge(c MicroRU, foreground bool) {
	n.charges++
	n.spent = addSaturating(n.spent, c)
	if foreground {
		n.foreground = addSaturating(n.foreground, c)
	}
}

// countRefusalLocked counts a refused or queued request in the statistics and in the demand of a bucket. The caller holds
// b.mu.
func (b *Bucket) countRefusalLocked() {
	b.use.countRefusal()
	b.demand.refused++
}

// SetServers sets the number of servers that share the budgets, including this one. With one server, each bucket gets
// its whole rate from the clock. With more, Grant refills the buckets; until the first Grant the clock still refills
// those that exist, and new ones get an even part of the rate once. A server that joins running peers, which have the
// whole budgets, starts with an even part of the reserve (reservePart).
func (b *Budgets) SetServers(now time.Time, parts int, joining bool) {
	was := b.serverShares.servers.Swap(int32(parts))
	joining = joining && parts > 1
	b.serverShares.joining.Store(joining)
	if parts > 1 && !joining || parts <= 1 && was <= 1 {
		return
	}
	b.eachBucket(func(_ BudgetID, k *Bucket) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.roll(now)
		if joining {
			k.servers, k.hasShare = parts, false
			k.share = k.newShare(true, k.rate)
			k.balance = min(k.balance, k.share)
			k.setGroupRates()
			return
		}
		k.servers, k.hasShare, k.share = 1, true, k.rate
		k.setGroupRates()
		k.queue.wakeHead(k.second)
	})
}

// Servers returns the number of servers that share the budgets, at least 1.
func (b *Budgets) Servers() int { return max(1, int(b.serverShares.servers.Load())) }

// Limited reports whether there is a budget with a limit.
func (b *Budgets) Limited() (any bool) {
	b.eachBucket(func(BudgetID, *Bucket) { any = true })
	return any
}

// Grant holds the share of a bucket that one server gets for one second, and what all servers spent in a second.
type Grant struct {
	Share      MicroRU // this server's share, added to its balance
	PeersSpent MicroRU // spent at the peers in a second
	Foreground MicroRU // spent at all servers in a second, without the class Background
}

// Grant gives every limited bucket this server's share for one second, which the function share returns; parts is
// the number of servers. The shares of all servers for one second must not exceed the rate of the bucket.
func (b *Budgets) Grant(now time.Time, parts int, share func(p BudgetID, rate MicroRU) Grant) {
	b.serverShares.servers.Store(int32(parts))
	b.serverShares.joining.Store(false)
	b.eachBucket(func(p BudgetID, k *Bucket) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.rate > 0 {
			k.grant(now, parts, share(p, k.rate))
		}
	})
}

// grant adds this server's share for one second to the balance of a bucket. At the first grant to a bucket that the
// clock has refilled, the balance is only cut to the share. The caller holds b.mu.
func (b *Bucket) grant(now time.Time, parts int, g Grant) {
	b.roll(now)
	first := b.servers <= 1
	b.servers, b.hasShare, b.share = parts, true, g.Share
	b.burstCredit = min(b.burstCredit, b.burstCreditMax())
	if first {
		b.balance = min(b.balance, b.share)
	} else {
		b.addShare(b.share)
	}
	b.setGroupRates()
	if !first {
		for i := range b.groups {
			k := &b.groups[i]
			k.balance = min(k.rate, refill(k.balance, k.rate, 1))
		}
	}
	b.use.addPeersSpent(g.PeersSpent, g.Foreground)
	b.queue.wakeHead(b.second)
}

// addShare adds a share to the balance. What exceeds one share becomes burst credit, or is counted as unused. Burst
// credit, then the minute's add-on, pays a debt that remains. The caller holds b.mu.
func (b *Bucket) addShare(share MicroRU) {
	b.balance = addSaturating(b.balance, share)
	if over := b.balance - b.share; over > 0 {
		b.balance = b.share
		saved := min(over, b.burstCreditMax()-b.burstCredit)
		b.burstCredit += saved
		b.demand.unused = addSaturating(b.demand.unused, over-saved)
	}
	if b.balance < 0 {
		b.payDebt()
	}
}

// setGroupRates sets the limits of the throughput buckets to their percentages of this server's share. The caller
// holds b.mu.
func (b *Bucket) setGroupRates() {
	for i := range b.groups {
		if g := &b.groups[i]; g.percent > 0 {
			g.rate = max(1, b.share/100*MicroRU(g.percent))
			g.balance = min(g.balance, g.rate)
		}
	}
}

// newShare returns this server's part of a new rate of the bucket: all of it without peers; otherwise the same
// proportion as before; an even part for a fresh bucket, but only of the reserve if this server has joined running
// peers and has received no share of the bucket yet. The caller holds b.mu.
func (b *Bucket) newShare(fresh bool, rate MicroRU) MicroRU {
	switch {
	case b.servers <= 1 || rate == 0:
		return rate
	case fresh && !b.hasShare:
		return max(1, b.evenShare(rate/reservePart))
	case fresh || b.rate == 0:
		return max(1, b.evenShare(rate))
	}
	return max(1, scale(int64(rate), int64(b.share), int64(b.rate)))
}

// evenShare returns an equal part of an amount for all servers.
func (b *Bucket) evenShare(all MicroRU) MicroRU { return all / MicroRU(max(1, b.servers)) }

// proportionalShare returns the part of an amount of all servers that belongs to this server, in the proportion of
// its share to the rate of the bucket.
func (b *Bucket) proportionalShare(all MicroRU) MicroRU {
	if b.servers <= 1 || b.rate == 0 {
		return all
	}
	return scale(int64(all), int64(b.share), int64(b.rate))
}

// TakeDemand returns the demand of this server for every limited bucket since the last call, in the order of
// BudgetID, and starts counting anew. Buckets without demand are left out.
func (b *Budgets) TakeDemand(now time.Time) []Demand {
	found := map[BudgetID]Demand{}
	b.eachBucket(func(p BudgetID, k *Bucket) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.roll(now)
		n := k.demand
		k.demand = demand{}
		refused := n.refused + int64(k.queue.len())
		if k.rate == 0 || n.spent == 0 && refused == 0 && k.balance >= 0 {
			return
		}
		typical := max(k.averageCharge, RU)
		if n.charges > 0 {
			typical = max(1, n.spent/MicroRU(n.charges))
		}
		wanted := addSaturating(n.spent, max(0, -k.balance))
		wanted = addSaturating(wanted, refusedWeight*typical*MicroRU(min(refused, int64(microMax/typical/refusedWeight))))
		found[p] = Demand{BudgetID: p, Spent: n.spent, Foreground: n.foreground, Wanted: min(wanted, k.rate), Unused: min(n.unused, k.rate)}
	})
	list := slices.Collect(maps.Values(found))
	slices.SortFunc(list, func(a, b Demand) int { return a.BudgetID.compare(b.BudgetID) })
	return list
}

// eachBucket calls visit for the buckets of all pools with a limit, and for the bucket of metadata commands if it
// has a limit.
func (b *Budgets) eachBucket(visit func(BudgetID, *Bucket)) {
	pool := func(name string, p *Pool) {
		set := p.set.Load()
		if !set.limited {
			return
		}
		for i, k := range set.buckets {
			visit(BudgetID{name, p.collection, set.shards[i]}, k)
		}
	}
	for i := range b.collections {
		stripe := &b.collections[i]
		stripe.mu.RLock()
		list := slices.Collect(maps.Values(stripe.m))
		stripe.mu.RUnlock()
		for _, p := range list {
			pool("", p)
		}
	}
	b.dbMu.Lock()
	databases := maps.Clone(b.databases)
	b.dbMu.Unlock()
	for name, p := range databases {
		pool(name, p)
	}
	if b.metadata.limited.Load() {
		visit(BudgetID{}, &b.metadata)
	}
}
