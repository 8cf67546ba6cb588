package balance

import (
	"bytes"
	"context"
	"maps"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

const (
	// heavyPart: a shard key value that takes half of the limit is heavy.
	heavyPart = 2
	// measureEvery: whenever a shard of at least half the limit grows or shrinks by an eighth of the limit, its
	// values are measured again, so that no value grows from light to full unnoticed.
	measureEvery = 8
	// warnPercent is the percentage of the limit that logs a warning.
	warnPercent = 80
)

// heavy finds the shard key values of a collection near Policy.LogicalBytes, the maximum size of a value, and logs a
// warning for those that nearly reach it, and for an unsharded collection that does. Its cost depends on the number
// of shards that are large enough to hold such a value; usually there are none.
func (b *Balancer) heavy(ctx context.Context, ns collection.Namespace) {
	c := b.Catalog.Peek().Collection(ns)
	limit := b.Policy.LogicalBytes
	if c == nil || c.Map == nil || limit <= 0 || !c.LimitsValues(b.Budgets.Collection(uint64(c.ID))) {
		return
	}
	counts := b.Tally.Of(c.ID)
	if !c.Sharded() {
		if p := (shardRef{c.ID, 0}); counts.Total(c.Map).Bytes*100 >= limit*warnPercent && b.measuredBytes[p] == 0 {
			b.measuredBytes[p] = 1
			b.Log.Warn().Str("collection", ns.String()).Int64("bytes", counts.Total(c.Map).Bytes).Int64("limit", limit).
				Msg("a collection without a shard key has used 80% of the size it may have: shard it")
		}
		return
	}
	for _, d := range c.Map.Shards() {
		p, n := shardRef{c.ID, d.ID}, counts.Shard(d.ID).Get().Bytes
		last, known := b.measuredBytes[p]
		if n < limit/heavyPart {
			if known { // the shard was larger
				counts.Heavy.Measured(d.ID, nil)
				delete(b.measuredBytes, p)
			}
			continue
		}
		if known && n-last < limit/measureEvery && last-n < limit/measureEvery {
			continue
		}
		sizes, err := measure(ctx, b.Runner.Store, c, d, limit/heavyPart)
		if err != nil {
			if ctx.Err() == nil {
				b.Log.Warn().Str("collection", ns.String()).Err(err).Msg("measuring shard key values failed and will be tried again")
			}
			return
		}
		b.measuredBytes[p] = n
		counts.Heavy.Measured(d.ID, sizes)
	}
	for _, k := range counts.Heavy.List() {
		if k.Bytes()*100 >= limit*warnPercent && k.FirstWarning() {
			b.Log.Warn().Str("collection", ns.String()).Str("value", LogicalText(c, k.Key)).Int64("bytes", k.Bytes()).Int64("limit", limit).
				Msg("a shard key value has used 80% of the size it may have: writes to it will be refused; choose a key of finer grain")
		}
	}
	maps.DeleteFunc(b.measuredBytes, func(p shardRef, _ int64) bool { return p.coll == c.ID && c.Map.Shard(p.shard) == nil })
}

// measure sums the bytes of every shard key value of a shard, and returns the values with at least
// the given bytes. Documents of one value are adjacent, so it keeps only one sum at a time.
func measure(ctx context.Context, store storage.Store, c *catalog.Collection, d *shard.Descriptor, least int64) (map[string]int64, error) {
	snap, err := store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	it, err := snap.Iter(ctx, keyspace.RecordSpan(c.ID, d.Lo, d.Hi), storage.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	out := map[string]int64{}
	var last, key []byte
	sum := int64(0)
	flush := func() {
		if sum >= least {
			out[string(last)] += sum
		}
		sum = 0
	}
	for n := 0; it.Next(); n++ {
		if n&1023 == 1023 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		doc := bson.Raw(it.Value())
		key = c.Key.AppendLogical(key[:0], doc)
		if !bytes.Equal(key, last) {
			flush()
			last = append(last[:0], key...)
		}
		sum += int64(len(doc))
	}
	flush()
	return out, it.Err()
}

// LogicalText prints a shard key value that KeyPattern.AppendLogical encoded.
func LogicalText(c *catalog.Collection, key string) string {
	values, err := c.Key.LogicalValues([]byte(key))
	if err != nil {
		return "?"
	}
	return ejson.String(values)
}
