package balance

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Config holds the parts and settings of a Balancer.
type Config struct {
	Catalog *catalog.Catalog
	Tally   *tally.Board
	Budgets *ratelimit.Budgets
	Runner  *jobs.Runner
	Now     func() time.Time
	Policy  Policy
	// IsOwner, if not nil, reports whether this server owns the job of balancing: of the servers over a shared store,
	// one balances.
	IsOwner func(ctx context.Context) bool
	// Every is the time between two passes over all collections; 0 = 1 s.
	Every time.Duration
	Log   zerolog.Logger
}

// Balancer splits and merges the shards of all collections. Safe for concurrent use.
type Balancer struct {
	Config
	wake          chan struct{}
	unsplittable  map[shardRef]int64 // number of documents of shards when they were found to hold one value; used by Run alone
	measuredBytes map[shardRef]int64 // bytes of shards when their values were measured; used by Run alone
	watched       watched            // used by Run alone

	mu       sync.Mutex
	disabled bool
	ns       map[collection.Namespace]bool // woken
	current  collection.Namespace          // the collection being balanced
}

// New makes a Balancer; it works while Run runs.
func New(c Config) *Balancer {
	if c.Every == 0 {
		c.Every = time.Second
	}
	return &Balancer{Config: c, wake: make(chan struct{}, 1), unsplittable: map[shardRef]int64{}, measuredBytes: map[shardRef]int64{}, ns: map[collection.Namespace]bool{}}
}

// Wake requests that a collection is balanced soon.
func (b *Balancer) Wake(ns collection.Namespace) {
	b.mu.Lock()
	b.ns[ns] = true
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Enable switches the balancer on or off (balancerStart, balancerStop). A running job is finished.
func (b *Balancer) Enable(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.disabled = !on
}

// Enabled reports whether the balancer is switched on.
func (b *Balancer) Enabled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.disabled
}

// Run balances until ctx ends.
func (b *Balancer) Run(ctx context.Context) {
	tick := time.NewTicker(b.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if b.IsOwner == nil || b.IsOwner(ctx) {
				b.Pass(ctx)
			}
		case <-b.wake:
			mine := b.IsOwner == nil || b.IsOwner(ctx)
			for _, ns := range b.woken() {
				if mine {
					b.balanceOne(ctx, ns)
				} else {
					b.setCurrent(ns) // the owner checks all collections every second
				}
			}
			if !mine {
				b.setCurrent(collection.Namespace{})
			}
		}
	}
}

func (b *Balancer) woken() (out []collection.Namespace) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ns := range b.ns {
		out = append(out, ns)
	}
	return out
}

// Busy reports whether the balancer works on a collection, or is about to because of Wake; false if it is switched off.
func (b *Balancer) Busy(ns collection.Namespace) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.disabled && (b.ns[ns] || b.current == ns)
}

// setCurrent sets the collection that the balancer works on.
func (b *Balancer) setCurrent(ns collection.Namespace) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = ns
	delete(b.ns, ns)
}

// Pass checks every collection that may need it once, splits and merges shards, and raises the autoscale maximum of
// collections and databases by their size. Run does this regularly; the two must not run concurrently.
func (b *Balancer) Pass(ctx context.Context) {
	snap := b.Catalog.Peek()
	for _, ns := range b.watched.at(snap) {
		if ctx.Err() != nil {
			return
		}
		b.balanceOne(ctx, ns)
	}
	for _, d := range snap.Databases() {
		b.raiseDatabase(ctx, d.Name)
	}
}

// roundsMax bounds the rounds of decisions for one collection in a pass: each round can at most double the shards.
const roundsMax = 16

// balanceOne finds the heavy values of one collection and raises its autoscale maximum. Then it splits and merges
// shards until nothing is left to do, an action fails, or roundsMax is reached; not if the balancer is switched off, or
// the collection is unsharded, being resharded or excluded from balancing.
func (b *Balancer) balanceOne(ctx context.Context, ns collection.Namespace) {
	b.setCurrent(ns)
	defer b.setCurrent(collection.Namespace{})
	b.heavy(ctx, ns)
	b.raise(ctx, ns)
	for range roundsMax {
		c := b.Catalog.Peek().Collection(ns)
		if c == nil || c.Map == nil || !c.Sharded() || c.Unbalanced || b.Runner.Resharding(c.ID) || !b.Enabled() || ctx.Err() != nil {
			return
		}
		done := 0
		policy := b.Policy
		policy.Merge = policy.Merge && !c.Unmerged
		policy.ShardsMax = min(cmp.Or(policy.ShardsMax, shard.ShardsMax), c.Map.Len()+b.Catalog.RoomForPartitions(ns.DB))
		for _, a := range Decide(c.Map, b.loads(c), policy) {
			if b.isUnsplittable(c.ID, a) {
				continue
			}
			if err := b.carryOut(ctx, c, a); err != nil {
				if ctx.Err() == nil {
					b.Log.Warn().Str("collection", ns.String()).Stringer("action", a).Err(err).Msg("balancing failed and will be tried again")
				}
				return
			}
			done++
		}
		if done == 0 {
			return
		}
	}
}

// shardRef identifies a shard.
type shardRef struct {
	coll  keyspace.CollectionID
	shard shard.ID
}

// isUnsplittable reports whether an action would split a shard that was found to hold only one shard key value. Such
// a shard is tried again when its number of documents has grown by an eighth.
func (b *Balancer) isUnsplittable(id keyspace.CollectionID, a Action) bool {
	docs, found := b.unsplittable[shardRef{id, a.Shard}]
	return a.Kind == Split && found && b.Tally.Of(id).Shard(a.Shard).Get().Docs < docs+docs/8+1
}

// loads returns the present loads of a collection.
func (b *Balancer) loads(c *catalog.Collection) Loads {
	return LoadsOf(b.Tally.Of(c.ID), b.Budgets, c, jobs.PlannedFor(b.Catalog.Peek(), c), b.Now())
}

func (b *Balancer) carryOut(ctx context.Context, c *catalog.Collection, a Action) error {
	start := b.Now()
	var err error
	if a.Kind == Merge {
		err = b.Runner.Merge(ctx, c.Namespace, a.Shard, a.With)
	} else if a.At != nil {
		err = b.Runner.Split(ctx, c.Namespace, a.Shard, a.At)
	} else {
		d := c.Map.Shard(a.Shard)
		at, ok, e := SplitPoint(ctx, b.Runner, c, d)
		if e != nil {
			return e
		}
		if !ok {
			b.unsplittable[shardRef{c.ID, a.Shard}] = b.Tally.Of(c.ID).Shard(a.Shard).Get().Docs
			b.Log.Warn().Str("collection", c.Namespace.String()).Stringer("action", a).Msg("all documents of the shard have the same shard key value: it cannot be split")
			return nil
		}
		err = b.Runner.Split(ctx, c.Namespace, a.Shard, at)
	}
	if err == nil {
		b.Log.Info().Str("collection", c.Namespace.String()).Stringer("action", a).Dur("took", b.Now().Sub(start)).Msg("balanced")
	}
	return err
}
