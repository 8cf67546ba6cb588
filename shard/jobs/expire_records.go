package jobs

import (
	"bytes"
	"context"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// expireCollection deletes the documents that have expired by the expireAfterSeconds of a time-series collection, or of
// a clustered one, in which documents whose _id is a date expire.
// Manual: core/timeseries/timeseries-automatic-removal, core/clustered-collections.
func (r *Runner) expireCollection(ctx context.Context, coll *catalog.Collection) (deleted int64, err error) {
	o := &coll.Options
	upTo, ok := expiredUpTo(o.ExpireAfterSeconds, r.Now().UnixMilli())
	switch {
	case !ok:
		return 0, nil
	case o.TimeSeries != nil:
		end := catalog.TimePosition(upTo) + catalog.SameTimeMax - 1
		return r.expireRecords(ctx, coll, keyspace.RecordHashRange(coll.ID, keyspace.HashMin, end))
	case o.Clustered && coll.Sharded():
		return r.expireWithin(ctx, coll, coll.IDIndex(), expiredBounds(coll.IDIndex(), upTo))
	case o.Clustered:
		first := keystring.Append(nil, date(math.MinInt64), keystring.Ascending, nil, nil)
		last := keystring.Append(nil, date(upTo), keystring.Ascending, nil, nil)
		return r.expireRecords(ctx, coll, storage.Range{
			Start: keyspace.AppendRecord(nil, coll.ID, keyspace.HashMin, first),
			End:   append(keyspace.AppendRecord(nil, coll.ID, keyspace.HashMin, last), 0),
		})
	}
	return 0, nil
}

// expireRecords deletes all records in a range of a collection, unless the expireAfterSeconds of the collection has
// changed meanwhile.
func (r *Runner) expireRecords(ctx context.Context, coll *catalog.Collection, within storage.Range) (deleted int64, err error) {
	var meter ratelimit.Meter
	for start := within.Start; start != nil; {
		var next []byte
		var n int64
		err := r.commit(ctx, coll.ID, &meter, storage.TxnOptions{}, func(b *batch) error {
			n, next = 0, nil
			if b.coll.Options.ExpireAfterSeconds != coll.Options.ExpireAfterSeconds {
				return nil
			}
			keys, docs, err := b.records(storage.Range{Start: start, End: within.End})
			if err != nil {
				return err
			}
			for i, doc := range docs {
				_, h, id, ok := keyspace.SplitRecord(keys[i])
				if !ok {
					return storage.ErrCorruption
				}
				if err := b.target(b.coll.Map.Find(h, id)).Delete(b.env, doc, h); err != nil {
					return err
				}
				n++
			}
			if len(keys) == b.rows {
				next = append(keys[len(keys)-1], 0)
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

// records copies the first records of a range.
func (b *batch) records(within storage.Range) (keys [][]byte, docs []bson.Raw, err error) {
	it, err := b.txn.Iter(b.env.Context(), within, storage.IterOptions{FetchRows: b.rows})
	if err != nil {
		return nil, nil, err
	}
	defer it.Close()
	for len(keys) < b.rows && it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
		docs = append(docs, bytes.Clone(it.Value()))
	}
	return keys, docs, it.Err()
}
