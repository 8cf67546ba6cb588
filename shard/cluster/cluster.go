package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/intents"
	"github.com/cantledb/cantle/shard/peers"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
)

// Config holds the parts and settings of a Cluster.
type Config struct {
	Store   storage.Store
	Catalog *catalog.Catalog
	Budgets *ratelimit.Budgets
	Tally   *tally.Board
	// Now is the clock of budgets and of $$NOW.
	Now func() time.Time
	// ScratchDir is the directory for spills of blocking operators; empty forbids spills.
	ScratchDir string
	// Workers bounds the goroutines of one scatter.
	Workers int
	// LogicalKeyBytes is the maximum number of bytes of the documents of one shard key value
	// in the collections for which Collection.LimitsValues is true; 0 = without limit.
	LogicalKeyBytes int64
	// Dropped is called for each dropped or renamed collection, to end its cursors.
	Dropped func(ns collection.Namespace)
	// Memory limits the memory of the past states that are made from the change log; nil sets no limit.
	Memory *ratelimit.Memory
	// Recount makes the counts of Tally include all documents that peers have committed; nil leaves the counts as
	// they are.
	Recount func(ctx context.Context) error
	// Peers sends calls to the peers. If it is nil, New makes it.
	Peers *peers.Calls
}

// Cluster is the data plane of a server: it runs the reads and writes of commands over the shards of collections. It
// is safe for concurrent use.
type Cluster struct {
	// Budgets, Now, ScratchDir, LogicalKeyBytes and Peers are those of Config.
	Budgets         *ratelimit.Budgets
	Now             func() time.Time
	ScratchDir      string
	LogicalKeyBytes int64
	Peers           *peers.Calls
	// Plans holds the plans that won their trials.
	Plans *plan.Cache
	// Uses counts the uses of indexes.
	Uses plan.Uses

	store   storage.Store
	catalog *catalog.Catalog
	tally   *tally.Board
	workers int
	dropped func(ns collection.Namespace)
	memory  *ratelimit.Memory
	recount func(ctx context.Context) error
	hub     *changestream.Hub
	// imageLife is the time for which change streams show pre- and post-images, a time.Duration; see SetImageLife.
	imageLife atomic.Int64
	// txnLockTimeout is a time.Duration; see SetTxnLockTimeout.
	txnLockTimeout atomic.Int64
	cappedLocks    sync.Map // keyspace.CollectionID → *cappedLock, of capped collections
	frontiers      sync.Map // keyspace.CollectionID → *write.Frontier; used only if exclusive

	definer Definer
	upper   Upper // see Attach
	intents intents.Table
	// claimsLost counts the writes of transactions that lost to another write of the same key.
	claimsLost atomic.Int64
	states     states
	exclusive  bool // no peer can write: counts and states of capped collections in memory are complete
}

// New makes a Cluster.
func New(c Config) *Cluster {
	if c.Workers <= 0 {
		c.Workers = 4
	}
	if c.Peers == nil {
		c.Peers = peers.NewCalls(peers.CallsConfig{Store: c.Store, Follow: c.Catalog.OnTopic})
	}
	if c.Dropped == nil {
		c.Dropped = func(collection.Namespace) {}
	}
	cl := &Cluster{
		Budgets: c.Budgets, Now: c.Now, ScratchDir: c.ScratchDir, LogicalKeyBytes: c.LogicalKeyBytes, Peers: c.Peers,
		store: c.Store, catalog: c.Catalog, tally: c.Tally, workers: c.Workers, dropped: c.Dropped, memory: c.Memory, recount: c.Recount,
		Plans: plan.NewCache(), hub: changestream.NewHub(c.Store), states: states{clock: c.Now, window: HistoryWindow}, exclusive: storage.Exclusive(c.Store),
	}
	cl.intents.Now = c.Now
	cl.SetTxnLockTimeout(txnLockTimeout)
	return cl
}
