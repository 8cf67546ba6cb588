package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
)

// crowded is a store in which clients write much: while on is set, a transaction that locks more keys than the field
// most allows conflicts when it commits, as if a client had just changed one of them.
type crowded struct {
	storage.Store
	most      int
	on        atomic.Bool
	conflicts atomic.Int64
}

func (c *crowded) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	t, err := c.Store.Begin(ctx, o)
	if err != nil || !c.on.Load() {
		return t, err
	}
	return &crowdedTxn{Txn: t, store: c}, nil
}

type crowdedTxn struct {
	storage.Txn
	store  *crowded
	locked int
}

func (t *crowdedTxn) Lock(ctx context.Context, keys ...[]byte) error {
	t.locked += len(keys)
	return t.Txn.Lock(ctx, keys...)
}

func (t *crowdedTxn) Commit(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	if t.locked > t.store.most {
		t.store.conflicts.Add(1)
		return 0, storage.ErrConflict
	}
	return t.Txn.Commit(ctx, d)
}

// An index build completes even if clients write so fast that only a few documents can be read and committed
// without a conflict.
func TestBatchesYield(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		store := &crowded{Store: make(), most: 3}
		n := open(t, func() storage.Store { return store })
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`), Shards: 2}))
		n.fill(0, 40)
		store.on.Store(true)
		if _, err := n.index(`{key: {a: 1}, name: "a"}`); err != nil {
			t.Fatal(err)
		}
		store.on.Store(false)
		if store.conflicts.Load() == 0 {
			t.Error("no batch of the index build conflicted")
		}
		n.check(`{}`)
	})
}
