package ddl

import (
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
)

// Config is what a Definer is made of beside the data plane.
type Config struct {
	// Jobs does the slow part: building, rewriting, splitting, deleting.
	Jobs *jobs.Runner
	// Limits are the partition rules of new collections.
	Limits Limits
	// PlainSeeds makes the hashes of a collection follow from its name and shard key,
	// so that its documents lie on the same shards in every run: for tests. Others
	// have a secret seed, so that nobody can prepare values that meet on one shard.
	PlainSeeds bool
	// Changed is told when shards of a collection may need attention from the
	// background jobs; nil = nobody is.
	Changed func(ns collection.Namespace)
	// Busy reports a collection whose shards are being split or merged at the
	// moment; nil = none ever is.
	Busy func(ns collection.Namespace) bool
}

// Limits are the rules by which collections get shards.
type Limits struct {
	ShardRU       int64 // most RU/s of one shard; 0 = the published limit
	ShardBytes    int64 // size at which a shard splits
	DefaultShards int   // of a sharded collection without throughput
	DefaultRU     int64 // provisioned for new collections; 0 = unlimited
}

// Definer runs data definition commands. Its methods return errors as they arise,
// those of the store and of budgets too. Safe for concurrent use.
type Definer struct {
	Config
	data *cluster.Cluster // what documents are read and copied with

	store   storage.Store      // the data plane's, as all that follow
	catalog *catalog.Catalog   // where definitions are
	budgets *ratelimit.Budgets // what throughput provisions
	tally   *tally.Board       // how much collections hold
	now     func() time.Time   // the clock of budgets
}

// New makes the Definer of a data plane, which does not know it before
// Cluster.AttachDefiner.
func New(data *cluster.Cluster, c Config) *Definer {
	if c.Changed == nil {
		c.Changed = func(collection.Namespace) {}
	}
	return &Definer{Config: c, data: data, store: data.Store, catalog: data.Catalog, budgets: data.Budgets, tally: data.Tally, now: data.Now}
}

// alter runs one catalog change of a command and notes its durability.
func (d *Definer) alter(o *cluster.Op, fn func(m *catalog.Mutation) error) error {
	err := d.catalog.Change(o.Env.Context(), fn)
	if err == nil {
		d.committed(o)
	}
	return err
}

// committed notes that a command has committed something by now.
func (d *Definer) committed(o *cluster.Op) { o.Committed = max(o.Committed, d.store.Latest()) }

// behindTxns waits for the transactions that have written to a collection, whose commits a
// change of it would spoil.
// Manual: core/transactions-production-consideration#pending-ddl-operations-and-transactions.
func (d *Definer) behindTxns(o *cluster.Op, ns collection.Namespace) error {
	return d.data.AwaitTxns(o, d.catalog.Peek().Collection(ns))
}

// noTxn refuses DDL in a database that cannot be part of a transaction, or not be done now.
// Errors: OperationNotSupportedInTransaction (263), those of cluster.Op.MayWrite.
func noTxn(o *cluster.Op, db, what string) error {
	if o.Txn == nil {
		return o.MayWrite(db)
	}
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run '%s' in a multi-document transaction.", what)
}
