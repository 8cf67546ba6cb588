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

// Config holds the parts and settings of a Definer, beside the data plane.
type Config struct {
	// Jobs runs the slow parts: building, rewriting, splitting, deleting.
	Jobs *jobs.Runner
	// Store, Catalog and Tally are those of the data plane.
	Store   storage.Store
	Catalog *catalog.Catalog
	Tally   *tally.Board
	// Limits are the partition rules of new collections.
	Limits Limits
	// PlainSeeds derives the hashes of a collection from its name and shard key, so that its
	// documents have the same hashes in every run: for tests. Otherwise the seed is secret, so
	// that clients cannot choose values that all fall on one shard.
	PlainSeeds bool
	// Changed is called when shards of a collection may need attention from the background jobs; it
	// may be nil.
	Changed func(ns collection.Namespace)
	// Busy reports whether shards of a collection are being split or merged at the moment; nil
	// means never.
	Busy func(ns collection.Namespace) bool
}

// Limits are the rules for the number of shards of collections.
type Limits struct {
	ShardRU       int64 // maximum RU/s of one shard; 0 = the published limit
	ShardBytes    int64 // size at which a shard splits
	DefaultShards int   // of a sharded collection without throughput
	DefaultRU     int64 // provisioned for new collections; 0 = unlimited
}

// Definer runs data definition commands. Its methods return errors unchanged, including those of
// the store and of budgets. Safe for concurrent use.
type Definer struct {
	Config
	data *cluster.Cluster // reads and copies documents

	store   storage.Store      // the data plane's, as are all that follow
	catalog *catalog.Catalog   // holds definitions
	budgets *ratelimit.Budgets // hold provisioned throughput
	tally   *tally.Board       // counts the documents and bytes of collections
	now     func() time.Time   // the clock of budgets
}

// New makes the Definer of a data plane. The caller connects both with Cluster.AttachDefiner.
func New(data *cluster.Cluster, c Config) *Definer {
	if c.Changed == nil {
		c.Changed = func(collection.Namespace) {}
	}
	return &Definer{Config: c, data: data, store: c.Store, catalog: c.Catalog, budgets: data.Budgets, tally: c.Tally, now: data.Now}
}

// alter runs one catalog change of a command and records that the command has committed.
// Errors: CollectionUUIDMismatch (361) unless the command's namespace has the UUID that the client expects.
func (d *Definer) alter(o *cluster.Op, fn func(m *catalog.Mutation) error) error {
	err := d.catalog.Change(o.Env.Context(), func(m *catalog.Mutation) error {
		if err := m.Snapshot().CheckUUID(o.Expected, o.Env.Release); err != nil {
			return err
		}
		return fn(m)
	})
	if err == nil {
		d.committed(o)
	}
	return err
}

// committed sets the commit time of a command.
func (d *Definer) committed(o *cluster.Op) { o.Committed = max(o.Committed, d.store.Latest()) }

// waitForTxns waits for the transactions that have written to a collection, because a change of the
// collection would break their commits.
// Manual: core/transactions-production-consideration#pending-ddl-operations-and-transactions.
func (d *Definer) waitForTxns(o *cluster.Op, ns collection.Namespace) error {
	return d.data.AwaitTxns(o, d.catalog.Peek().Collection(ns))
}

// noTxn returns an error for a DDL command (what) if it runs in a transaction, which it cannot, or if writes to its
// database are blocked.
// Errors: OperationNotSupportedInTransaction (263), the errors of cluster.Op.MayWrite.
func noTxn(o *cluster.Op, db, what string) error {
	if o.Txn == nil {
		return o.MayWrite(db)
	}
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run '%s' in a multi-document transaction.", what)
}
