package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Scope is the collection and the shards on which a request works, and at which it must be admitted.
type Scope struct {
	Collection uint64
	Shards     []int // as routed; nil before routing: then one shard that can admit the request is enough
}

// Budgets holds all throughput of a server: one Pool per collection, one per database with shared throughput,
// and the metadata budget. The zero Budgets is ready and unlimited. Safe for concurrent use.
type Budgets struct {
	// Clock replaces sleeping while it is stopped: Wait advances it by the time for which it would have slept. It
	// exists for deterministic tests, whose callers pass its time as now. A nil Clock is never stopped.
	Clock *VirtualClock
	// Prices is the price list of the server, nil for Normative. It is set before the server starts, and is the same
	// for every address of the server: all work that is paid from one budget must have the same prices.
	Prices *PriceList

	collections  [16]pools // by number
	active       activePools
	dbMu         sync.Mutex
	databases    map[string]*Pool
	metadata     Bucket
	operators    allowance
	rules        rules
	changes      changes
	serverShares serverShares
}

// pools is one stripe of the collections' pools.
type pools struct {
	mu sync.RWMutex
	m  map[uint64]*Pool
}

// Collection returns the pool of a collection. At the first call it creates the pool, unlimited and with one shard.
func (b *Budgets) Collection(id uint64) *Pool {
	s := &b.collections[id%uint64(len(b.collections))]
	s.mu.RLock()
	p := s.m[id]
	s.mu.RUnlock()
	if p != nil {
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p = s.m[id]; p == nil {
		if s.m == nil {
			s.m = make(map[uint64]*Pool)
		}
		p = newPool(id, &b.serverShares)
		p.active = &b.active
		s.m[id] = p
	}
	return p
}

// Database returns the pool of a database. At the first call it creates the pool, unlimited.
func (b *Budgets) Database(name string) *Pool {
	b.dbMu.Lock()
	defer b.dbMu.Unlock()
	p := b.databases[name]
	if p == nil {
		if b.databases == nil {
			b.databases = make(map[string]*Pool)
		}
		p = newPool(0, &b.serverShares)
		b.databases[name] = p
	}
	return p
}

// SetDatabase makes a collection pay from the throughput of a database too; an empty name ends that. homes maps each
// shard of the collection to the partition of the database on which the shard lies.
func (b *Budgets) SetDatabase(collection uint64, database string, homes map[int]int) {
	p := b.Collection(collection)
	if database == "" {
		p.parent.Store(nil)
		return
	}
	p.parent.Store(&parent{b.Database(database), homes})
}

// Drop removes the pool of a dropped collection.
func (b *Budgets) Drop(collection uint64) {
	s := &b.collections[collection%uint64(len(b.collections))]
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.m[collection]; p != nil {
		p.dropped.Store(true)
		delete(s.m, collection)
	}
}

// DropDatabase removes the pool of a dropped database. Its collections are dropped one by one, with Drop.
func (b *Budgets) DropDatabase(name string) {
	b.dbMu.Lock()
	delete(b.databases, name)
	b.dbMu.Unlock()
}

// SetMetadataRate limits the metadata commands (create, drop, list) of the whole server to rus RU/s together; 0 is
// unlimited. MetadataRate is the published value.
func (b *Budgets) SetMetadataRate(now time.Time, rus int64) {
	b.metadata.setRate(now, MicroRU(rus)*RU, &Options{})
}

// Metadata returns the budget of metadata commands.
func (b *Budgets) Metadata() *Bucket { return &b.metadata }

// AdmitMetadata returns nil if a metadata command may start now, otherwise the refusal, which names no partition.
func (b *Budgets) AdmitMetadata(now time.Time) *Throttled {
	by, wait := b.metadata.admit(now, Class{})
	if wait == 0 {
		return nil
	}
	by.Limit = MetadataLimit
	return &Throttled{ShardID{}, by, wait}
}

// Admit returns nil if a request may start now, otherwise the refusal with the time to wait. It charges nothing: the
// price is charged after the request, with Charge. A refusal is counted at its shard.
func (b *Budgets) Admit(now time.Time, s Scope, c Class) *Throttled {
	p := b.Collection(s.Collection)
	shard, by, wait := p.admit(now, s.Shards, c)
	if parent := p.parent.Load(); parent != nil && wait == 0 {
		shard, by, wait = parent.admit(now, p, s.Shards, c)
	}
	if wait == 0 {
		return nil
	}
	return &Throttled{ShardID{s.Collection, shard}, by, wait}
}

// Charge takes the price of everything that a meter counted from the budgets of the collections and shards where it
// was counted, and returns the total. It does not allocate.
func (b *Budgets) Charge(now time.Time, c Class, m *Meter) (total MicroRU) {
	m.SetPrices(b.Prices)
	m.EachCharge(func(at ShardID, charge MicroRU) {
		total = addSaturating(total, charge)
		own := c
		if at.Collection != m.Collection() { // which has other tenants
			own.Tenant = 0
		}
		b.ChargeAt(now, own, at, charge)
	})
	return total
}

// ChargeAt takes a charge from the budget of one shard, and from that of the database if the collection pays there
// too. A charge of the class Operator is taken from the allowance of operators instead.
func (b *Budgets) ChargeAt(now time.Time, c Class, at ShardID, charge MicroRU) {
	if charge <= 0 {
		return
	}
	if c.Operator {
		b.ChargeOperator(now, charge)
		return
	}
	p := b.Collection(at.Collection)
	p.set.Load().at(at.Shard).ChargeAs(now, c, charge)
	p.markActive()
	if parent := p.parent.Load(); parent != nil {
		parent.at(at.Shard).ChargeAs(now, c, charge)
	}
}

// Enter admits a request: with server-side retry (HasServerSideRetry) the request waits, for at most
// RetrySecondsMax seconds; otherwise it is refused at once. A request of the class Operator is admitted, because its
// command was, by EnterOperator. Errors: *Throttled, ErrRetryTimeout, ctx.Err().
func (b *Budgets) Enter(ctx context.Context, now time.Time, s Scope, c Class) (waited time.Duration, err error) {
	if c.Operator {
		return 0, nil
	}
	if b.HasServerSideRetry(s.Collection) {
		return b.Wait(ctx, now, s, c, RetrySecondsMax*time.Second)
	}
	if t := b.Admit(now, s, c); t != nil {
		return 0, t
	}
	return 0, nil
}

// HasServerSideRetry reports whether a collection, or the database from whose throughput it pays, has server-side
// retry, so that Enter may wait.
func (b *Budgets) HasServerSideRetry(collection uint64) bool {
	p := b.Collection(collection)
	parent := p.parent.Load()
	return p.retry.Load() || parent != nil && parent.retry.Load()
}

// Wait admits a request. If the budget of one of its shards or of its database is used up, the request waits there
// in the order of arrival, for at most limit altogether. Wait returns the time waited, without a wait that ctx ended.
// Errors: ErrRetryTimeout; *Throttled if too many requests wait already; ctx.Err().
func (b *Budgets) Wait(ctx context.Context, now time.Time, s Scope, c Class, limit time.Duration) (waited time.Duration, err error) {
	p := b.Collection(s.Collection)
	for pool := range p.chain() {
		for set := pool.set.Load(); set.limited; {
			before := waited
			for _, t := range p.bucketWaits(now, pool, set, s.Shards, c) {
				w, err := b.waitAt(ctx, now.Add(waited), t.bucket, c, limit-waited)
				waited += w
				if full, ok := err.(*Throttled); ok {
					err = &Throttled{ShardID{s.Collection, t.shard}, full.Standing, full.RetryAfter}
				}
				if err != nil {
					return waited, err
				}
			}
			latest := pool.set.Load()
			if latest == set || waited == before {
				break
			}
			set = latest // the shards changed during the wait: the new ones have budgets of their own
		}
	}
	return waited, nil
}

// waitAt waits for one bucket, in real or virtual time.
func (b *Budgets) waitAt(ctx context.Context, now time.Time, k *Bucket, c Class, limit time.Duration) (time.Duration, error) {
	if b.Clock.Stopped() {
		return b.waitVirtual(ctx, k, c, limit)
	}
	return k.Wait(ctx, now, c, limit)
}

// chain yields the pools that have to admit a request on the collection of p: p itself, then the pool of the
// database if the collection pays from it.
func (p *Pool) chain() func(yield func(*Pool) bool) {
	return func(yield func(*Pool) bool) {
		if yield(p) {
			if parent := p.parent.Load(); parent != nil {
				yield(parent.Pool)
			}
		}
	}
}

// bucketWait is one bucket for which a request has to wait, and the shard of the request that pays from this bucket.
type bucketWait struct {
	shard  int
	bucket *Bucket
}

// bucketWaits returns the buckets of pool that have to admit a request, each once, in the order of shards. pool is
// p, the pool of the request's collection, or the pool of its database. If the request is not routed yet, only the
// bucket is returned that can admit the request first.
func (p *Pool) bucketWaits(now time.Time, pool *Pool, set *bucketSet, shards []int, c Class) (out []bucketWait) {
	bucketOf := set.at
	if parent := p.parent.Load(); pool != p && parent != nil {
		bucketOf = func(shard int) *Bucket { return set.at(parent.home(shard)) }
	}
	routed := len(shards) > 0
	if shards = slices.Clone(shards); !routed {
		shards = p.set.Load().shards
	} else {
		slices.Sort(shards)
	}
	shortest := time.Duration(-1)
	for _, s := range shards {
		t := bucketWait{s, bucketOf(s)}
		switch {
		case !routed:
			if w := t.bucket.peek(now, c); shortest < 0 || w < shortest {
				shortest, out = w, []bucketWait{t}
			}
		case !slices.ContainsFunc(out, func(o bucketWait) bool { return o.bucket == t.bucket }):
			out = append(out, t)
		}
	}
	return out
}

// NoteChange counts one change of throughput. It refuses the change if ChangesMax were made in the last
// ChangesSeconds. Errors: *InvalidThroughput.
func (b *Budgets) NoteChange(now time.Time) error { return b.changes.note(now) }

// changes stores the times of the latest throughput changes.
type changes struct {
	mu   sync.Mutex
	at   [ChangesMax]time.Time
	next int
}

func (c *changes) note(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if oldest := c.at[c.next]; !oldest.IsZero() && now.Sub(oldest) < ChangesSeconds*time.Second {
		return invalid(RuleTooManyChanges, ChangesMax+1, ChangesMax,
			"throughput may be changed at most %d times in %d seconds", ChangesMax, ChangesSeconds)
	}
	c.at[c.next] = now
	c.next = (c.next + 1) % ChangesMax
	return nil
}
