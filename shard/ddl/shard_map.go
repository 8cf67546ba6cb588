package ddl

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
)

// ZoneRange is a zone as a client gives it: the shard keys from Min, inclusive, up to Max,
// exclusive.
type ZoneRange struct {
	Name     string   // of the zone
	Min, Max bson.Raw // values of the shard key, or of its first fields
}

// sharded gives the catalog entry of a collection that is empty, or will be rewritten, a shard key, zones and a shard
// map, with boundaries of shards where zones begin and end. A ranged key otherwise begins with one shard, because
// where to split depends on the documents, or with the boundaries in opts.sampled.
// Errors: BadValue; InvalidOptions (72) for zones that are not ranges of the key or make too many partitions,
// RangeOverlapConflict (178); the errors of an index on the key.
func (d *Definer) sharded(o *cluster.Op, coll *catalog.Collection, opts ShardOptions, epoch uint64) (*catalog.Collection, error) {
	key, err := shard.ParseKeyPattern(opts.Key)
	if err != nil {
		return nil, err
	}
	shards := opts.Shards
	if shards <= 0 {
		shards = d.firstShards(coll)
	}
	shards = min(shards, shard.ShardsMax)
	if key.Kind() == shard.Ranged {
		shards = 1
		if coll, err = withKeyIndex(o, coll, key, opts.Unique); err != nil {
			return nil, err
		}
	}
	if opts.seed == 0 {
		opts.seed = d.newSeed(coll.Namespace, opts.Key)
	}
	key = key.WithSeed(opts.seed)
	zones, err := zonesOf(key, opts.Zones)
	if err != nil {
		return nil, err
	}
	if opts.keepZones {
		zones = coll.Zones
	}
	table, err := shard.NewMap(key.Kind(), epoch, shards)
	if err != nil {
		return nil, err
	}
	next := coll.With(func(d *catalog.Collection) {
		d.Key, d.Map = key, table
		d.Shares, d.Zones = nil, zones // zones of the old key do not apply any more
	})
	return withBounds(next, append(next.ZoneBounds(), opts.sampled...))
}

// newSeed returns the seed of the hashes of a collection's shard key: a random one or, with PlainSeeds, one derived
// from the namespace and the key.
func (d *Definer) newSeed(ns collection.Namespace, key bson.Raw) uint64 {
	var b [8]byte
	if d.PlainSeeds {
		h := fnv.New64a()
		h.Write([]byte(ns.String()))
		h.Write(key)
		h.Sum(b[:0])
	} else {
		rand.Read(b[:])
	}
	return binary.LittleEndian.Uint64(b[:])>>1 | 1
}

// withBounds returns the entry of a collection without documents with its shard map divided at further positions.
func withBounds(coll *catalog.Collection, more []shard.Position) (*catalog.Collection, error) {
	if len(more) == 0 {
		return coll, nil
	}
	for _, d := range coll.Map.Shards()[1:] {
		more = append(more, d.Lo)
	}
	slices.SortFunc(more, func(a, b shard.Position) int { return bytes.Compare(a, b) })
	more = slices.CompactFunc(more, func(a, b shard.Position) bool { return bytes.Equal(a, b) })
	if len(more) >= shard.ShardsMax {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "the zones divide the collection into more than %d partitions", shard.ShardsMax)
	}
	table, err := shard.NewMapAt(coll.Map.Kind(), coll.Map.Version().Epoch, more)
	if err != nil {
		return nil, err
	}
	return coll.With(func(d *catalog.Collection) { d.Map = table }), nil
}

// zonesOf converts the zones of a command, which are ranges of shard key values, to ranges of positions, in ascending
// order.
// Errors: InvalidOptions (72), RangeOverlapConflict (178).
func zonesOf(key shard.KeyPattern, ranges []ZoneRange) (zones []catalog.Zone, err error) {
	for _, z := range ranges {
		within, err := zoneRange(key, z.Min, z.Max)
		if err != nil {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "the range from %s to %s of zone %s is none of the shard key %s: %v", z.Min, z.Max, z.Name, key, err)
		}
		zones = append(zones, catalog.Zone{Name: z.Name, Range: within})
	}
	slices.SortFunc(zones, func(a, b catalog.Zone) int { return bytes.Compare(a.Lo, b.Lo) })
	for i := 1; i < len(zones); i++ {
		if zones[i].Overlaps(zones[i-1].Range) {
			return nil, mongoerr.New(mongoerr.RangeOverlapConflict, "Zone range of %s beginning at %s is overlapping with one of %s beginning at %s",
				zones[i].Name, key.Bound(zones[i].Lo, bson.MinKey), zones[i-1].Name, key.Bound(zones[i-1].Lo, bson.MinKey))
		}
	}
	return zones, nil
}

// sampledPerShard is the number of shard keys sampled for each initial shard of a ranged key,
// sampledMax that for all shards.
const (
	sampledPerShard = 64
	sampledMax      = 1 << 16
)

// sample computes opts.sampled: the positions that divide the documents of a collection into opts.Shards shards of
// about equal size under a ranged key. They are quantiles of some of the shard keys, sampled at even distances.
func (d *Definer) sample(o *cluster.Op, coll *catalog.Collection, key shard.KeyPattern, opts *ShardOptions) error {
	if opts.seed == 0 {
		opts.seed = d.newSeed(coll.Namespace, opts.Key)
	}
	key = key.WithSeed(opts.seed)
	docs := d.tally.Of(coll.ID).Total(coll.Map).Docs
	want := min(int64(opts.Shards)*sampledPerShard, sampledMax, docs)
	if key.Kind() != shard.Ranged || opts.Shards < 2 || want < 2 {
		return nil
	}
	env := *o.Env
	in, err := d.data.Find(&cluster.Op{Env: &env, Class: o.Class}, coll.Namespace, plan.Find{})
	if err != nil {
		return err
	}
	defer in.Close()
	var found []shard.Position
	for i := int64(0); int64(len(found)) < want; i++ {
		row, err := in.Next(&env)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if i*want/docs < int64(len(found)) {
			continue
		}
		at, err := key.AppendPosition(nil, row.Doc)
		if err != nil {
			return err
		}
		found = append(found, at)
	}
	slices.SortFunc(found, func(a, b shard.Position) int { return bytes.Compare(a, b) })
	for i := 1; i < opts.Shards && len(found) > 0; i++ { // all documents may be deleted by now
		at := found[i*len(found)/opts.Shards]
		if bytes.Equal(at, found[0]) || len(opts.sampled) > 0 && bytes.Equal(at, opts.sampled[len(opts.sampled)-1]) {
			continue // one value fills a shard
		}
		opts.sampled = append(opts.sampled, at)
	}
	return nil
}
