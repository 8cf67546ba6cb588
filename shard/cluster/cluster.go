package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
)

// Config is what a Cluster is made of.
type Config struct {
	Store   storage.Store
	Catalog *catalog.Catalog
	Budgets *ratelimit.Budgets
	Tally   *tally.Board
	// Jobs does the slow part of DDL. Required for DDL.
	Jobs *jobs.Runner
	// Now is the clock of budgets and of $$NOW.
	Now func() time.Time
	// ScratchDir is where blocking operators spill; empty forbids it.
	ScratchDir string
	// Workers bounds the goroutines of one scatter.
	Workers int
	// PlainSeeds makes the hashes of a collection follow from its name and shard key,
	// so that its documents lie on the same shards in every run: for tests. Others
	// have a secret seed, so that nobody can prepare values that meet on one shard.
	PlainSeeds bool
	// Limits are the partition rules of new collections.
	Limits Limits
	// Info delivers the rows of stages about the server itself ($collStats,
	// $currentOp, …); nil = none.
	Info func(o *Op, ns collection.Namespace, kind string, spec bson.Raw) ([]bson.Raw, error)
	// Virtual makes up the documents of collections that nobody stores
	// (config.chunks, …); ok is false for any other namespace. nil = none.
	Virtual func(o *Op, ns collection.Namespace) (docs []bson.Raw, ok bool)
	// Dropped is told of collections that are gone, so that cursors end.
	Dropped func(ns collection.Namespace)
	// Changed is told when shards of a collection may need attention from the
	// background jobs.
	Changed func(ns collection.Namespace)
	// Busy reports a collection whose shards are being split or merged at the
	// moment; nil = none ever is.
	Busy func(ns collection.Namespace) bool
	// Memory is what states of the past are held in; nil has no end.
	Memory *ratelimit.Memory
}

// Limits are the rules by which collections get shards.
type Limits struct {
	ShardRU         int64 // most RU/s of one shard; 0 = the published limit
	ShardBytes      int64 // size at which a shard splits
	DefaultShards   int   // of a sharded collection without throughput
	DefaultRU       int64 // provisioned for new collections; 0 = unlimited
	LogicalKeyBytes int64 // most bytes of one shard key value where throughput is provisioned; 0 = unlimited
}

// Cluster runs commands. Safe for concurrent use.
type Cluster struct {
	Config
	// Plans remembers which plans won their trials.
	Plans *plan.Cache
	// Uses counts the uses of indexes.
	Uses Uses
	hub  *changestream.Hub
	// imageLife is what SetImageLife was told, a time.Duration.
	imageLife atomic.Int64
	lines     sync.Map // keyspace.CollectionID → *line, of capped collections

	intents intents
	history history
}

// New makes a Cluster.
func New(c Config) *Cluster {
	if c.Workers <= 0 {
		c.Workers = 4
	}
	if c.Dropped == nil {
		c.Dropped = func(collection.Namespace) {}
	}
	if c.Changed == nil {
		c.Changed = func(collection.Namespace) {}
	}
	return &Cluster{Config: c, Plans: plan.NewCache(), hub: changestream.NewHub(c.Store), history: history{clock: c.Now, window: HistoryWindow}}
}

// sync makes everything committed so far durable.
func (c *Cluster) sync(ctx context.Context) error { return translate(c.Store.Sync(ctx)) }
