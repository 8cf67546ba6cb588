package ratelimit

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// division says among how many servers the budgets are divided. The zero division is one server.
type division struct {
	parts   atomic.Int32
	joining atomic.Bool // this server has not had a share of anything yet, and the others have all of it
}

// bucket is a new bucket.
func (d *division) bucket() *Bucket {
	b := &Bucket{}
	if d != nil {
		b.parts, b.granted = int(d.parts.Load()), !d.joining.Load()
	}
	return b
}

// Purse names a bucket with a limit, alike at all servers.
type Purse struct {
	Database   string // whose shared throughput it is
	Collection uint64 // without a database; 0 is the budget of metadata commands
	Shard      int
}

func (p Purse) compare(q Purse) int {
	return cmp.Or(cmp.Compare(p.Database, q.Database), cmp.Compare(p.Collection, q.Collection), cmp.Compare(p.Shard, q.Shard))
}

// Need is what was asked of a purse at one server since it was asked before.
type Need struct {
	Purse
	Spent      MicroRU
	Foreground MicroRU // of Spent, without the class Background
	Wanted     MicroRU // with what was refused, or waits, and what is owed
	Unused     MicroRU // was left of shares and is lost
}

// refusedWeight is by how much a refusal counts: who was refused is held back, and has more to ask for.
const refusedWeight = 2

// need counts for Budgets.Needs.
type need struct {
	spent, foreground MicroRU
	charges, refused  int64
	unused            MicroRU
}

func (n *need) charge(c MicroRU, foreground bool) {
	n.charges++
	n.spent = addSaturating(n.spent, c)
	if foreground {
		n.foreground = addSaturating(n.foreground, c)
	}
}

// refuse counts a refusal. Holds b.mu.
func (b *Bucket) refuse() {
	b.use.refuse()
	b.need.refused++
}

// Divide says that so many servers have these budgets, this one included. With others there this server gets
// what it may use by Grant, and from then on nothing by the clock: until the first Grant it has what it had, and
// new buckets an even part; or, joining others who have all of it, a part of the reserve.
func (b *Budgets) Divide(now time.Time, parts int, joining bool) {
	was := b.division.parts.Swap(int32(parts))
	joining = joining && parts > 1
	b.division.joining.Store(joining)
	if parts > 1 && !joining || parts <= 1 && was <= 1 {
		return
	}
	b.eachBucket(func(_ Purse, k *Bucket) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.roll(now)
		if joining {
			k.parts, k.granted = parts, false
			k.own = k.part(true, k.rate)
			k.balance = min(k.balance, k.own)
			k.regroup()
			return
		}
		k.parts, k.granted, k.own = 1, true, k.rate
		k.regroup()
		k.queue.wakeHead()
	})
}

// Parts is what Divide was told, at least 1.
func (b *Budgets) Parts() int { return max(1, int(b.division.parts.Load())) }

// Limited reports that there is a budget with a limit.
func (b *Budgets) Limited() (any bool) {
	b.eachBucket(func(Purse, *Bucket) { any = true })
	return any
}

// Granted is what one server may use of a purse in one second, and what all have used.
type Granted struct {
	Share      MicroRU // this server's, added to what it has
	Elsewhere  MicroRU // spent at the other servers in a second
	Foreground MicroRU // spent at all of them in a second, without the class Background
}

// Grant gives every limited bucket its share of one second, of so many servers. The shares of all of them for
// a second must not be more than the rate.
func (b *Budgets) Grant(now time.Time, parts int, share func(p Purse, rate MicroRU) Granted) {
	b.division.parts.Store(int32(parts))
	b.division.joining.Store(false)
	b.eachBucket(func(p Purse, k *Bucket) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.rate > 0 {
			k.grant(now, parts, share(p, k.rate))
		}
	})
}

// grant adds the share of a second; the first one replaces what the bucket had by the clock. Holds b.mu.
func (b *Bucket) grant(now time.Time, parts int, g Granted) {
	b.roll(now)
	first := b.parts <= 1
	b.parts, b.granted, b.own = parts, true, g.Share
	b.bank = min(b.bank, b.bankMax())
	if first {
		b.balance = min(b.balance, b.own)
	} else {
		b.add(b.own)
	}
	b.regroup()
	if !first {
		for i := range b.groups {
			k := &b.groups[i]
			k.balance = min(k.rate, refill(k.balance, k.rate, 1))
		}
	}
	b.use.others(g.Elsewhere, g.Foreground)
	b.queue.wakeHead()
}

// add gives the bucket its share of a second. Holds b.mu.
func (b *Bucket) add(share MicroRU) {
	b.balance = addSaturating(b.balance, share)
	if over := b.balance - b.own; over > 0 {
		b.balance = b.own
		saved := min(over, b.bankMax()-b.bank)
		b.bank += saved
		b.need.unused = addSaturating(b.need.unused, over-saved)
	}
	if b.balance < 0 {
		b.draw()
	}
}

// regroup sets the caps of throughput buckets by this server's share. Holds b.mu.
func (b *Bucket) regroup() {
	for i := range b.groups {
		if g := &b.groups[i]; g.percent > 0 {
			g.rate = max(1, b.own/100*MicroRU(g.percent))
			g.balance = min(g.balance, g.rate)
		}
	}
}

// part is this server's part of a new rate. Holds b.mu.
func (b *Bucket) part(fresh bool, rate MicroRU) MicroRU {
	switch {
	case b.parts <= 1 || rate == 0:
		return rate
	case fresh && !b.granted:
		return max(1, b.evenly(rate/reservePart))
	case fresh || b.rate == 0:
		return max(1, b.evenly(rate))
	}
	return max(1, scale(int64(rate), int64(b.own), int64(b.rate)))
}

// evenly is an equal part of what all servers have together.
func (b *Bucket) evenly(all MicroRU) MicroRU { return all / MicroRU(max(1, b.parts)) }

// shareOf is as much of an amount as the bucket has of its rate.
func (b *Bucket) shareOf(all MicroRU) MicroRU {
	if b.parts <= 1 || b.rate == 0 {
		return all
	}
	return scale(int64(all), int64(b.own), int64(b.rate))
}

// Needs lists what was asked of every limited bucket since the last call, in the order of purses; those of
// which nothing was asked are left out.
func (b *Budgets) Needs(now time.Time) []Need {
	found := map[Purse]Need{}
	b.eachBucket(func(p Purse, k *Bucket) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.roll(now)
		n := k.need
		k.need = need{}
		refused := n.refused + int64(k.queue.len())
		if k.rate == 0 || n.spent == 0 && refused == 0 && k.balance >= 0 {
			return
		}
		typical := max(k.typical, RU)
		if n.charges > 0 {
			typical = max(1, n.spent/MicroRU(n.charges))
		}
		wanted := addSaturating(n.spent, max(0, -k.balance))
		wanted = addSaturating(wanted, refusedWeight*typical*MicroRU(min(refused, int64(microMax/typical/refusedWeight))))
		found[p] = Need{Purse: p, Spent: n.spent, Foreground: n.foreground, Wanted: min(wanted, k.rate), Unused: min(n.unused, k.rate)}
	})
	list := slices.Collect(maps.Values(found))
	slices.SortFunc(list, func(a, b Need) int { return a.Purse.compare(b.Purse) })
	return list
}

// eachBucket visits the buckets of all pools that have a limit, and that of metadata commands.
func (b *Budgets) eachBucket(visit func(Purse, *Bucket)) {
	pool := func(name string, p *Pool) {
		set := p.set.Load()
		if !set.limited {
			return
		}
		for i, k := range set.buckets {
			visit(Purse{name, p.collection, set.shards[i]}, k)
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
		visit(Purse{}, &b.metadata)
	}
}
