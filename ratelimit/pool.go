package ratelimit

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the settings of a collection or database besides its throughput.
type Options struct {
	Burst           bool    // burst credit, see Bucket
	RUPerMinute     bool    // the retired RU-per-minute add-on
	ServerSideRetry bool    // queue throttled requests instead of refusing them
	ShardMax        int64   // maximum RU/s of one shard, 0 = no maximum; throughput above it is usable after splits
	RequestMax      MicroRU // the default cap of a command; 0 = none
	Groups          Groups
}

// Share is the part of a Pool's throughput that one shard gets.
type Share struct {
	Shard int
	RUs   int64
}

// Pool holds the provisioned throughput of one collection or database, and divides it over the buckets of the
// shards: evenly, unless an operator has redistributed it. The zero Pool is not usable; Budgets creates pools. Safe
// for concurrent use.
type Pool struct {
	collection   uint64
	serverShares *serverShares
	parent       atomic.Pointer[parent] // the database whose throughput this collection shares
	set          atomic.Pointer[bucketSet]
	retry        atomic.Bool
	named        atomic.Pointer[Groups] // the groups, if one is chosen by appName
	caps         atomic.Pointer[defaultCaps]
	tenants      atomic.Pointer[Tenants] // nil if tenants have no limits
	active       *activePools            // of the Budgets; nil for that of a database
	isActive     atomic.Bool             // the pool is in active
	dropped      atomic.Bool

	mu            sync.Mutex // guards the fields below and changes of set
	throughput    Throughput
	options       Options
	redistributed []Share  // redistributed shares; nil is even
	retired       totals   // of removed shards
	hot           sync.Map // shard int → *HotKeys
}

// totals are counters that only increase.
type totals struct {
	spent     MicroRU
	throttled int64
}

// bucketSet is an immutable list of the shards' buckets, by shard number.
type bucketSet struct {
	limited bool
	shards  []int
	buckets []*Bucket
}

// at returns the bucket of a shard. A command that still uses an older shard map may name a shard that is no longer
// in the set: its work is charged to one of the other buckets, in one set always the same for a number.
func (s *bucketSet) at(shard int) *Bucket {
	if i, ok := slices.BinarySearch(s.shards, shard); ok {
		return s.buckets[i]
	}
	return s.buckets[uint(shard)%uint(len(s.buckets))]
}

// newPool creates an unlimited pool of one shard.
func newPool(collection uint64, d *serverShares) *Pool {
	p := &Pool{collection: collection, serverShares: d}
	p.set.Store(&bucketSet{shards: []int{0}, buckets: []*Bucket{d.newBucket()}})
	return p
}

// Throughput returns the throughput of the pool.
func (p *Pool) Throughput() Throughput {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.throughput
}

// Options returns the options of the pool.
func (p *Pool) Options() Options {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.options
}

// Limited reports whether this pool itself can refuse requests; the pool of the database is not considered.
func (p *Pool) Limited() bool { return p.set.Load().limited }

// Set sets the throughput and the options of the pool, and ends a redistribution. A higher rate is usable at once; a
// debt stays. The caller has checked t with CheckCollection or CheckDatabase.
func (p *Pool) Set(now time.Time, t Throughput, o Options) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.throughput, p.options, p.redistributed = t, o, nil
	p.retry.Store(o.ServerSideRetry)
	p.named.Store(o.Groups.named())
	d := o.defaultCaps()
	p.caps.Store(d)
	if d != nil {
		p.serverShares.capped.Store(true)
	}
	p.divide(now, p.set.Load().shards)
}

// SetShards sets the shards of the pool to those of the collection's current shard map. If they change, the throughput
// is divided again, evenly; shards that stay keep their balances, cut to the new share.
func (p *Pool) SetShards(now time.Time, shards []int) {
	if len(shards) == 0 {
		return
	}
	shards = slices.Clone(shards)
	slices.Sort(shards)
	shards = slices.Compact(shards)
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Equal(shards, p.set.Load().shards) {
		return
	}
	p.redistributed = nil
	p.divide(now, shards)
	p.hot.Range(func(k, _ any) bool {
		if _, ok := slices.BinarySearch(shards, k.(int)); !ok {
			p.hot.Delete(k)
		}
		return true
	})
}

// divide publishes a new bucketSet for the shards, in which each bucket has its part of the throughput. Buckets of
// shards that stay are kept; those of removed shards become unlimited, which releases their waiting requests. The
// caller holds p.mu.
func (p *Pool) divide(now time.Time, shards []int) {
	old := p.set.Load()
	perSecond := min(p.throughput.PerSecond(len(shards)), int64(microMax/RU))
	s := &bucketSet{limited: perSecond > 0, shards: shards, buckets: make([]*Bucket, len(shards))}
	total, n := perSecond*int64(RU), int64(len(shards))
	o := p.options
	if p.throughput.Mode == Serverless { // only provisioned units can be saved
		o.Burst, o.RUPerMinute = false, false
	}
	for i, id := range shards {
		if j, ok := slices.BinarySearch(old.shards, id); ok {
			s.buckets[i] = old.buckets[j]
		} else {
			s.buckets[i] = p.serverShares.newBucket()
			s.buckets[i].setTenants(p.tenants.Load())
		}
		rate := total / n
		if int64(i) < total%n { // a millionth more for the first ones, so that the shares add up
			rate++
		}
		if p.redistributed != nil {
			rate = p.redistributed[i].RUs * int64(RU)
		}
		if m := p.options.ShardMax * int64(RU); m > 0 {
			rate = min(rate, m)
		}
		s.buckets[i].setRate(now, MicroRU(rate), &o)
	}
	p.set.Store(s)
	if s.limited {
		p.markActive()
	}
	for i, id := range old.shards {
		if _, ok := slices.BinarySearch(shards, id); !ok {
			b := old.buckets[i]
			b.setRate(now, 0, &Options{}) // releases its waiters
			b.mu.Lock()
			p.retired.spent = addSaturating(p.retired.spent, b.use.total)
			p.retired.throttled += b.use.throttled
			b.mu.Unlock()
		}
	}
}

// Shares returns the parts of the throughput that the shards have, in whole RU/s, rounded down; 0 if the throughput
// is unlimited.
func (p *Pool) Shares() []Share {
	s := p.set.Load()
	out := make([]Share, len(s.shards))
	for i, b := range s.buckets {
		b.mu.Lock()
		out[i] = Share{s.shards[i], int64(b.rate / RU)}
		b.mu.Unlock()
	}
	return out
}

// admit returns 0 if a request may start on all the given shards, otherwise the time that it has to wait and the
// shard that causes it. Without shards (the request is not routed yet) one shard that can admit the request is
// enough. A refusal is counted at the returned shard, whose bucket has the state by.
func (p *Pool) admit(now time.Time, shards []int, c Class) (shard int, by Standing, wait time.Duration) {
	set := p.set.Load()
	if !set.limited {
		return 0, by, 0
	}
	if len(shards) == 1 {
		by, wait = set.at(shards[0]).admit(now, c)
		return shards[0], by, wait
	}
	if len(shards) == 0 {
		deny := 0
		for i, b := range set.buckets {
			w := b.peek(now, c)
			if w == 0 {
				return set.shards[i], by, 0
			}
			if i == 0 || w < wait {
				wait, deny = w, i
			}
		}
		return set.shards[deny], set.buckets[deny].countRefusal(c), wait
	}
	for _, s := range shards {
		if w := set.at(s).peek(now, c); w > wait {
			shard, wait = s, w
		}
	}
	if wait > 0 {
		by = set.at(shard).countRefusal(c)
	}
	return shard, by, wait
}

// Stats returns the statistics of each shard, by shard number.
func (p *Pool) Stats(now time.Time) []BucketStats {
	s := p.set.Load()
	out := make([]BucketStats, len(s.buckets))
	for i, b := range s.buckets {
		b.mu.Lock()
		b.roll(now)
		out[i] = b.stats()
		b.mu.Unlock()
		out[i].Shard = s.shards[i]
	}
	return out
}

// Totals returns the units used, and the requests refused or queued, since the server started, including those of
// shards that the collection no longer has.
func (p *Pool) Totals() (spent MicroRU, throttled int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.retired
	for _, b := range p.set.Load().buckets {
		b.mu.Lock()
		sum.spent = addSaturating(sum.spent, b.use.total)
		sum.throttled += b.use.throttled
		b.mu.Unlock()
	}
	return sum.spent, sum.throttled
}

// Normalized returns the metric Normalized RU Consumption for the last minute: the use of the busiest shard in its
// busiest second, in percent of the shard's RU/s, 0..100.
func (p *Pool) Normalized(now time.Time) int {
	highest := 0
	for _, s := range p.Stats(now) {
		highest = max(highest, s.Normalized)
	}
	return highest
}

// Autoscaled returns the RU/s for which an autoscale pool is billed in the current and in the previous hour: the sum
// over the shards of each shard's highest use in one second of that hour, without Background, but at least a tenth of
// the shard's RU/s and at most all of them. In other modes it returns 0, 0.
func (p *Pool) Autoscaled(now time.Time) (thisHour, lastHour int64) {
	if p.Throughput().Mode != Autoscale {
		return 0, 0
	}
	var this, last MicroRU
	for _, b := range p.set.Load().buckets {
		b.mu.Lock()
		b.roll(now)
		this += max(b.rate/10, min(b.rate, b.use.peak))
		last += max(b.rate/10, min(b.rate, b.use.peakLast))
		b.mu.Unlock()
	}
	return ceilDiv(int64(this), int64(RU)), ceilDiv(int64(last), int64(RU))
}

// peek returns the same wait as AdmitAs, but counts no refusal.
func (b *Bucket) peek(now time.Time, c Class) time.Duration {
	if !b.limited.Load() {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(now)
	return b.wait(now, c)
}

// countRefusal counts a refusal after peek, and returns the state of the bucket.
func (b *Bucket) countRefusal(c Class) Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.countRefusalLocked()
	return b.standing(c)
}

// Shared reports whether the pool's collection also pays from its database's throughput.
func (p *Pool) Shared() bool { return p.parent.Load() != nil }

// SharedThroughput returns the throughput of the database if the pool's collection pays from it, otherwise the zero
// Throughput.
func (p *Pool) SharedThroughput() Throughput {
	if parent := p.parent.Load(); parent != nil {
		return parent.Throughput()
	}
	return Throughput{}
}
