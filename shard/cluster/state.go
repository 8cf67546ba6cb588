package cluster

import (
	"context"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Catalog returns the current catalog without pinning anything in it. It serves for inspection, never for a write.
func (c *Cluster) Catalog() *catalog.Snapshot { return c.catalog.Peek() }

// Counts returns the counts of documents and bytes of a collection.
func (c *Cluster) Counts(id keyspace.CollectionID) *tally.Collection { return c.tally.Of(id) }

// Sync makes everything committed so far durable. Errors: the errors of the store.
func (c *Cluster) Sync(ctx context.Context) error { return c.store.Sync(ctx) }

// Latest returns the newest timestamp that this server's store has seen, of a commit or a read.
func (c *Cluster) Latest() storage.Timestamp { return c.store.Latest() }

// Durable returns the watermark of the store: all commits up to that timestamp are durable.
func (c *Cluster) Durable() storage.Timestamp { return c.store.Durable() }

// StoreTime returns a timestamp that is at least as high as those of all commits of all servers that ended before the
// call. Errors: the errors of the store.
func (c *Cluster) StoreTime(ctx context.Context) (storage.Timestamp, error) { return c.store.Now(ctx) }

// WaitReached waits until this server's store has a state at a timestamp or a later one, that is until the writes of the
// server that it follows are applied up to then. Errors: the errors of the store, ctx.Err().
func (c *Cluster) WaitReached(ctx context.Context, at storage.Timestamp) error {
	for c.store.Latest() < at {
		if err := c.store.WaitLog(ctx, at-1); err != nil {
			return err
		}
	}
	return nil
}

// WriteConflicts returns the number of conflicts of writes: commits that the store refused, and writes of transactions that
// lost to another write.
func (c *Cluster) WriteConflicts() int64 { return c.store.Metrics().Conflicts + c.claimsLost.Load() }

// StoreMetrics returns the counters of the store.
func (c *Cluster) StoreMetrics() storage.Metrics { return c.store.Metrics() }

// DiskFull reports whether the store refuses writes for lack of disk space.
func (c *Cluster) DiskFull() bool { return c.store.DiskFull() }

// ApproximateBytes estimates the bytes that a range takes on the disk; see storage.Store.
// Errors: the errors of the store.
func (c *Cluster) ApproximateBytes(ctx context.Context, r storage.Range) (uint64, error) {
	return c.store.ApproximateBytes(ctx, r)
}

// DiskSizes returns the bytes of a collection and its indexes on the disk; false if the store has no tables of
// its own.
func (c *Cluster) DiskSizes(ctx context.Context, coll *catalog.Collection) (catalog.DiskSizes, bool) {
	return coll.DiskSizes(ctx, c.store)
}

// Compactor returns the store if it has tables of its own, which it can compact.
func (c *Cluster) Compactor() (storage.Compactor, bool) {
	s, ok := c.store.(storage.Compactor)
	return s, ok
}

// Remote returns the store if it is a cluster over the network; nil otherwise.
func (c *Cluster) Remote() storage.Remote {
	s, _ := c.store.(storage.Remote)
	return s
}

// Membership returns the servers that use the store.
func (c *Cluster) Membership() storage.Membership { return storage.MembershipOf(c.store) }

// Exclusive reports whether this server has the store exclusively: there are no peers.
func (c *Cluster) Exclusive() bool { return c.exclusive }

// DropCounts forgets the counts of a dropped collection.
func (c *Cluster) DropCounts(id keyspace.CollectionID) { c.tally.Drop(id) }

// WithStore calls fn with the store and the catalog, for rows that are kept beside the documents, such as saved
// settings of the server. Errors: the errors of fn.
func (c *Cluster) WithStore(fn func(s storage.Store, cat *catalog.Catalog) error) error {
	return fn(c.store, c.catalog)
}
