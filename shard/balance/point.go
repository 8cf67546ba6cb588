package balance

import (
	"context"

	"github.com/cantledb/cantle/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// scanDocs is up to how many documents a split point is found by counting;
// beyond, by the engine's estimates of sizes.
const scanDocs = 200_000

// splitPoint finds the position that halves the documents of a shard; ok is
// false when they all have one position, so that no split helps.
func splitPoint(ctx context.Context, store storage.Store, id keyspace.CollectionID, d *shard.Descriptor, docs int64) (at keyspace.Hash, ok bool, err error) {
	at, ok = d.Middle()
	if docs < 2 || !ok {
		return at, ok, nil
	}
	snap, err := store.Snapshot(ctx, 0)
	if err != nil {
		return 0, false, err
	}
	defer snap.Close()
	lo, hi := d.Hashes()
	if docs > scanDocs {
		if at, err = halve(ctx, store, id, lo, hi); err != nil {
			return 0, false, err
		}
		return boundary(ctx, snap, id, lo, hi, at)
	}
	it, err := snap.Iter(ctx, keyspace.RecordHashRange(id, lo, hi), storage.IterOptions{KeysOnly: true})
	if err != nil {
		return 0, false, err
	}
	defer it.Close()
	for n := int64(0); n <= docs/2 && it.Next(); n++ {
		_, at, _, _ = keyspace.SplitRecord(it.Key())
	}
	if err := it.Err(); err != nil {
		return 0, false, err
	}
	return boundary(ctx, snap, id, lo, hi, at)
}

// boundary makes sure that documents lie on both sides of a split point, moving
// it to the next position in use where they do not.
func boundary(ctx context.Context, snap storage.Reader, id keyspace.CollectionID, lo, hi, at keyspace.Hash) (keyspace.Hash, bool, error) {
	first, ok, err := next(ctx, snap, id, lo, hi)
	if !ok || err != nil {
		return 0, false, err
	}
	if at > first {
		return at, true, nil
	}
	if first == hi {
		return 0, false, nil
	}
	return next(ctx, snap, id, first+1, hi)
}

// next is the first position in use at or after from.
func next(ctx context.Context, snap storage.Reader, id keyspace.CollectionID, from, hi keyspace.Hash) (keyspace.Hash, bool, error) {
	it, err := snap.Iter(ctx, keyspace.RecordHashRange(id, from, hi), storage.IterOptions{KeysOnly: true, FetchRows: 1})
	if err != nil {
		return 0, false, err
	}
	defer it.Close()
	if !it.Next() {
		return 0, false, it.Err()
	}
	_, h, _, ok := keyspace.SplitRecord(it.Key())
	return h, ok, nil
}

// halve searches the position below which half of the bytes lie.
func halve(ctx context.Context, store storage.Store, id keyspace.CollectionID, lo, hi keyspace.Hash) (keyspace.Hash, error) {
	total, err := store.ApproximateBytes(ctx, keyspace.RecordHashRange(id, lo, hi))
	if err != nil {
		return 0, err
	}
	a, b := lo, hi
	for range 24 {
		mid := a + (b-a)/2
		left, err := store.ApproximateBytes(ctx, keyspace.RecordHashRange(id, lo, mid))
		if err != nil {
			return 0, err
		}
		if left < total/2 {
			a = mid
		} else {
			b = mid
		}
		if b-a < 2 {
			break
		}
	}
	return b, nil
}
