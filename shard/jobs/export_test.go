package jobs

import (
	"context"

	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Steps of jobs, for tests that stop between them.

func (r *Runner) Prepare(ctx context.Context, id keyspace.CollectionID, change func(*shard.Map) (*shard.Map, error)) error {
	return r.prepare(ctx, id, change)
}

func (r *Runner) Rest(ctx context.Context, id keyspace.CollectionID) error {
	return r.settleShards(ctx, id, &Progress{})
}

func (r *Runner) SettleShard(ctx context.Context, id keyspace.CollectionID, d *shard.Descriptor) error {
	return r.settle(ctx, id, d, &Progress{})
}

func (r *Runner) Saved() storage.Timestamp { return r.counts.saved }

// Settled reports whether a Reshard of the collection is committed or aborted, or none is running.
func (r *Runner) Settled(id keyspace.CollectionID) bool {
	c := r.resharding.of(id)
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled
}

// ForgetLogLength deletes the stored length of the change log: the store is then as an older program left it.
func (r *Runner) ForgetLogLength(ctx context.Context) error {
	return storage.Update(ctx, r.Store, storage.TxnOptions{}, storage.Synced, func(t storage.Txn) error { return t.Delete(logLengthKey()) })
}

// Stretches returns, for a log of so many records of size bytes each, the number of stretches in which its length is
// stored, and the numbers of records and bytes that are decoded from them.
func Stretches(records, size int) (marks int, docs, bytes int64) {
	var l, again logLength
	for i := range records {
		l.add(storage.Timestamp(i+1), size)
	}
	again = decodeLogLength(l.encode(), 0)
	docs, bytes = again.total()
	return len(again.marks), docs, bytes
}
