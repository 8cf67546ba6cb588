package balance

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
)

// Config is what a Balancer is made of.
type Config struct {
	Catalog *catalog.Catalog
	Tally   *tally.Board
	Budgets *ratelimit.Budgets
	Runner  *jobs.Runner
	Now     func() time.Time
	Policy  Policy
	// Every is the time between two looks at all collections; 0 = 1 s.
	Every time.Duration
	Log   zerolog.Logger
}

// Balancer looks after the shards of all collections. Safe for concurrent use.
type Balancer struct {
	Config
	wake chan struct{}

	mu  sync.Mutex
	off bool
	ns  map[collection.Namespace]bool // woken
}

// New makes a Balancer; Run makes it work.
func New(c Config) *Balancer {
	if c.Every == 0 {
		c.Every = time.Second
	}
	return &Balancer{Config: c, wake: make(chan struct{}, 1), ns: map[collection.Namespace]bool{}}
}

// Wake asks for an early look at a collection.
func (b *Balancer) Wake(ns collection.Namespace) {
	b.mu.Lock()
	b.ns[ns] = true
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Enable switches the balancer on or off (balancerStart, balancerStop). A job
// under way is finished.
func (b *Balancer) Enable(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = !on
}

// Enabled reports whether the balancer works.
func (b *Balancer) Enabled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.off
}

// Run works until ctx ends.
func (b *Balancer) Run(ctx context.Context) {
	tick := time.NewTicker(b.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.Pass(ctx)
		case <-b.wake:
			for _, ns := range b.woken() {
				b.look(ctx, ns)
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
	clear(b.ns)
	return out
}

// Pass looks at every collection once.
func (b *Balancer) Pass(ctx context.Context) {
	for _, c := range b.Catalog.Peek().Collections("") {
		if ctx.Err() != nil {
			return
		}
		b.look(ctx, c.Namespace)
	}
}

// look decides about one collection and carries it out.
func (b *Balancer) look(ctx context.Context, ns collection.Namespace) {
	c := b.Catalog.Peek().Collection(ns)
	if c == nil || c.Map == nil || !c.Sharded() || !b.Enabled() {
		return
	}
	for _, a := range Decide(c.Map, b.loads(c), b.Policy) {
		if err := b.carryOut(ctx, c, a); err != nil {
			if ctx.Err() == nil && !errors.Is(err, errWhole) {
				b.Log.Warn().Str("collection", ns.String()).Stringer("action", a).Err(err).Msg("balancing failed and will be tried again")
			}
			return
		}
	}
}

// loads is what a collection carries at the moment.
func (b *Balancer) loads(c *catalog.Collection) Loads {
	l := Loads{Shards: map[shard.ID]Load{}}
	if t := jobs.Provisioned(c.Throughput); t.Mode == ratelimit.Manual || t.Mode == ratelimit.Autoscale {
		l.RUs = t.RUs
	}
	counts := b.Tally.Of(c.ID)
	for _, d := range c.Map.Shards() {
		n := counts.Shard(d.ID).Get()
		l.Shards[d.ID] = Load{Docs: n.Docs, Bytes: n.Bytes}
	}
	for _, s := range b.Budgets.Collection(uint64(c.ID)).Stats(b.Now()) {
		if n, ok := l.Shards[shard.ID(s.Shard)]; ok {
			n.RUs = int64(s.LastMinute/ratelimit.RU) / 60
			l.Shards[shard.ID(s.Shard)] = n
		}
	}
	return l
}

// errWhole says that all documents of a shard have one position.
var errWhole = errors.New("all documents of the shard have one shard key value")

func (b *Balancer) carryOut(ctx context.Context, c *catalog.Collection, a Action) error {
	start := b.Now()
	var err error
	if a.Kind == Merge {
		err = b.Runner.Merge(ctx, c.Namespace, a.Shard, a.With)
	} else {
		d := c.Map.Shard(a.Shard)
		at, ok, e := splitPoint(ctx, b.Runner.Store, c.ID, d, b.Tally.Of(c.ID).Shard(a.Shard).Get().Docs)
		if e != nil {
			return e
		}
		if !ok {
			return errWhole
		}
		err = b.Runner.Split(ctx, c.Namespace, a.Shard, at)
	}
	if err == nil {
		b.Log.Info().Str("collection", c.Namespace.String()).Stringer("action", a).Dur("took", b.Now().Sub(start)).Msg("balanced")
	}
	return err
}
