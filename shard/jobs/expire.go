package jobs

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// SetExpireEvery changes the time between two passes of the TTL deleter
// (ttlMonitorSleepSecs).
func (r *Runner) SetExpireEvery(d time.Duration) {
	r.expireEvery.Store(int64(max(d, 10*time.Millisecond)))
	wake(r.expireWake)
}

// ExpirePeriod is the time between two passes of the TTL deleter.
func (r *Runner) ExpirePeriod() time.Duration { return time.Duration(r.expireEvery.Load()) }

// SetExpire switches the TTL deleter on or off (ttlMonitorEnabled).
func (r *Runner) SetExpire(on bool) {
	r.expireOff.Store(!on)
	wake(r.expireWake)
}

// Expires reports whether the TTL deleter is on.
func (r *Runner) Expires() bool { return !r.expireOff.Load() }

func (r *Runner) expireLoop(ctx context.Context) {
	for sleep(ctx, r.ExpirePeriod(), r.expireWake) {
		if r.Expires() && r.OwnsLoop(ctx, jobExpire) {
			_, err := r.Expire(r.asOwner(ctx, jobExpire))
			r.report("expire", err)
		}
	}
}

// Expire deletes the documents that have expired by a TTL index or by the time to live of their
// collection, and returns how many. They are ordinary deletes, with their change-log records.
// Manual: core/index-ttl.
func (r *Runner) Expire(ctx context.Context) (deleted int64, err error) {
	ctx = r.withSlot(ctx)
	var errs []error
	for _, coll := range r.Catalog.Peek().Collections("") {
		n, err := r.expireCollection(ctx, coll)
		deleted += n
		if err != nil && !errors.Is(err, errDropped) {
			errs = append(errs, err)
		}
		for _, ix := range coll.Indexes {
			if !expiring(ix) {
				continue
			}
			n, err := r.expireIndex(ctx, coll, ix)
			deleted += n
			if err != nil && !errors.Is(err, errDropped) {
				errs = append(errs, err)
			}
			if ctx.Err() != nil {
				return deleted, context.Cause(ctx)
			}
		}
	}
	r.passes.Add(1)
	r.expired.Add(deleted)
	return deleted, errors.Join(errs...)
}

// Expired returns the passes of the TTL deleter and the documents that it and ExpireDue deleted, since the start
// (serverStatus.metrics.ttl).
func (r *Runner) Expired() (passes, deleted int64) { return r.passes.Load(), r.expired.Load() }

func (r *Runner) expireIndex(ctx context.Context, coll *catalog.Collection, ix *catalog.Index) (deleted int64, err error) {
	for _, bounds := range dueBounds(ix, r.Now()) {
		n, err := r.expireWithin(ctx, coll, ix, bounds)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// expireWithin deletes the documents with an index entry within bounds.
func (r *Runner) expireWithin(ctx context.Context, coll *catalog.Collection, ix *catalog.Index, bounds keyspace.Bounds) (deleted int64, err error) {
	for _, d := range coll.Map.Shards() {
		for _, p := range d.Partitions {
			n, err := r.expireRange(ctx, coll, ix, d, keyspace.EntryRange(coll.ID, ix.ID, p, bounds))
			deleted += n
			if err != nil {
				return deleted, err
			}
		}
	}
	return deleted, nil
}

// expiredBounds returns the bounds of the entries of a TTL index with dates up to upTo, in milliseconds since 1970.
func expiredBounds(ix *catalog.Index, upTo int64) keyspace.Bounds {
	lo, hi := ix.Bound(nil, 0, date(math.MinInt64)), ix.Bound(nil, 0, date(upTo))
	if ix.Dirs()[0] == keystring.Descending {
		lo, hi = hi, lo
	}
	return keyspace.Bounds{Lo: lo, Hi: hi}
}

// ownTTLBounds returns the bounds of the entries of documents, in an index by the last write, whose own ttl field
// ended up to upTo, in milliseconds since 1970.
func ownTTLBounds(ix *catalog.Index, upTo int64) keyspace.Bounds {
	b := bson.NewBuilder(nil)
	b.Int64("lo", 0)
	b.Int64("hi", upTo)
	d := b.Doc()
	return keyspace.Bounds{Lo: ix.Bound(nil, 0, d.Get("lo")), Hi: ix.Bound(nil, 0, d.Get("hi"))}
}

func date(ms int64) bson.Value {
	b := bson.NewBuilder(nil)
	b.DateTime("", ms)
	return b.Doc().Get("")
}

// expireRange deletes the documents of the index entries in a range. A document is deleted only if
// its entry still exists in the transaction that deletes it.
func (r *Runner) expireRange(ctx context.Context, coll *catalog.Collection, ix *catalog.Index, d *shard.Descriptor, within storage.Range) (deleted int64, err error) {
	var meter ratelimit.Meter
	for start := within.Start; start != nil && !within.Empty(); {
		var next []byte
		var n int64
		err := r.commit(ctx, coll.ID, &meter, storage.TxnOptions{}, func(b *batch) error {
			n, next = 0, nil
			b.rows = storage.CommitRows(r.Store, b.rows)
			if now := b.coll.Index(ix.Name); now == nil || now.ID != ix.ID {
				return nil
			}
			var keys [][]byte
			var err error
			if keys, next, err = entriesOf(b, storage.Range{Start: start, End: within.End}, ownerOf(b.coll, ix), d); err != nil {
				return err
			}
			for _, key := range keys {
				if err := b.env.Spend(storage.ChangeBytes); err != nil {
					return err
				}
				gone, err := b.expire(ix, key)
				if err != nil {
					return err
				}
				if gone {
					n++
				}
			}
			return nil
		})
		if err != nil {
			return deleted, err
		}
		deleted += n
		start = next
	}
	return deleted, nil
}

// expire deletes the document of one entry of a TTL index and reports whether it did: an earlier entry of the same
// document may have deleted the document already.
func (b *batch) expire(ix *catalog.Index, key []byte) (bool, error) {
	ctx := b.env.Context()
	v, err := b.txn.Get(ctx, key, nil)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var h keyspace.Hash
	var id []byte
	ok := false
	if ix.Unique {
		h, id, _, ok = keyspace.SplitUniqueValue(v, b.coll.IDParts(), skipAscending)
	} else {
		_, h, id, ok = keyspace.SplitEntry(key, ix.Width(), skipper(ix))
	}
	if !ok {
		return false, errors.Join(storage.ErrCorruption, errors.New(keyspace.Pretty(key)))
	}
	doc, err := b.txn.Get(ctx, keyspace.AppendRecord(nil, b.coll.ID, h, id), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, b.target(b.coll.Map.Find(h, id)).Delete(b.env, doc, h)
}
