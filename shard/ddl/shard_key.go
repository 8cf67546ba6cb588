package ddl

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
)

// checkShardKey parses the key and rejects invalid options.
func checkShardKey(opts ShardOptions) (shard.KeyPattern, error) {
	key, err := shard.ParseKeyPattern(opts.Key)
	if err != nil {
		return key, err
	}
	switch {
	case opts.Unique && hasHashed(key):
		return key, mongoerr.New(mongoerr.InvalidOptions, "Hashed shard keys cannot be declared unique. It's possible to ensure uniqueness on the hashed field "+
			"by declaring an additional (non-hashed) unique index on the field.")
	case opts.Shards < 0 || opts.Shards > shard.ShardsMax:
		return key, mongoerr.New(mongoerr.InvalidOptions, "numInitialChunks must be between 1 and %d", shard.ShardsMax)
	}
	return key, nil
}

// hasHashed reports whether a key has a hashed field.
func hasHashed(key shard.KeyPattern) bool {
	return slices.ContainsFunc(key.Fields(), func(f shard.Field) bool { return f.Hashed })
}

// withKeyIndex returns a catalog entry that has an index beginning with a ranged shard key, which finds and sorts by
// the key use. If there is none, it adds one; with unique, a unique one.
// Manual: core/sharding-shard-key#shard-key-indexes. Errors: InvalidOptions (72); the errors of an index.
func withKeyIndex(o *cluster.Op, coll *catalog.Collection, key shard.KeyPattern, unique bool) (*catalog.Collection, error) {
	for _, ix := range coll.Indexes {
		if !unique && serves(ix, key) || unique && ix.Unique && bson.Equal(ix.Key.Value(), key.Spec().Value(), nil) || ix.ID == 1 && key.IsID() {
			return coll, nil
		}
	}
	b := bson.NewBuilder(nil)
	b.Int32("v", 2)
	b.Raw("key", key.Spec())
	name := ""
	for field, v := range key.Spec().Fields() {
		if name != "" {
			name += "_"
		}
		if s, ok := v.Str(); ok {
			name += string(field) + "_" + s
		} else {
			name += string(field) + "_1"
		}
	}
	b.String("name", name)
	if unique {
		b.Bool("unique", true)
	}
	if len(coll.Options.CollationRaw) > 0 {
		b.BeginDoc("collation")
		b.String("locale", "simple")
		b.End()
	}
	spec, err := index.ParseSpec(o.Env, b.Doc())
	if err != nil {
		return nil, err
	}
	for _, ix := range coll.Indexes {
		if same, err := spec.Conflict(ix.Spec); err != nil {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "Please create an index that starts with the proposed shard key %s before sharding the collection: %v", key, err)
		} else if same {
			return coll, nil
		}
	}
	return withNewIndex(coll, &catalog.Index{Spec: spec, State: catalog.IndexReady}), nil
}

// serves reports whether an index holds every document in the order of a shard key, so that reads by the key can use
// it.
func serves(ix *catalog.Index, key shard.KeyPattern) bool {
	it := ix.Key.Iter()
	for _, want := range key.Spec().Fields() {
		if !it.Next() || !bson.Equal(it.Value, want, nil) {
			return false
		}
	}
	for i, f := range key.Fields() {
		if i >= len(ix.Fields()) || ix.Fields()[i] != f.Path.String() {
			return false
		}
	}
	return ix.State == catalog.IndexReady && ix.Partial == nil && !ix.Sparse && ix.Collation == nil && !ix.Multikey.Any()
}

// alreadySharded reports whether a collection has the key.
func alreadySharded(coll *catalog.Collection, key shard.KeyPattern) (bool, error) {
	if coll.IsView() {
		return false, mongoerr.ViewNotAllowed(coll.Namespace.String())
	}
	if !coll.Sharded() {
		return false, nil
	}
	if !bson.Equal(coll.Key.Spec().Value(), key.Spec().Value(), nil) {
		return false, mongoerr.New(mongoerr.AlreadyInitialized, "sharding already enabled for collection %s with the shard key %s", coll.Namespace, coll.Key)
	}
	return true, nil
}

// canShard rejects collections that cannot have the key.
// Manual: reference/command/shardCollection. Errors: InvalidOptions (72), ConflictingOperationInProgress (117) while an
// index is being built, NotImplementedYet for a time-series collection.
func canShard(coll *catalog.Collection, key shard.KeyPattern) error {
	if coll.Options.Capped {
		return mongoerr.New(mongoerr.InvalidOptions, "can't shard a capped collection")
	}
	if coll.Options.TimeSeries != nil {
		return mongoerr.NotImplementedYet("sharding a time-series collection")
	}
	for _, ix := range coll.Indexes[1:] {
		if ix.State == catalog.IndexBuilding {
			return mongoerr.New(mongoerr.ConflictingOperationInProgress, "index %s of %s is still being built", ix.Name, coll.Namespace)
		}
		if ix.Unique && (!key.IsPrefixOf(ix.Key) || ix.Collation != nil) {
			return mongoerr.New(mongoerr.InvalidOptions, "can't shard collection '%s' with unique index on %s and proposed shard key %s. "+
				"Uniqueness can't be maintained unless shard key is a prefix", coll.Namespace, docText(ix.Key), key)
		}
	}
	return nil
}

// sameKey reports whether a collection has the shard key already.
func sameKey(coll *catalog.Collection, key shard.KeyPattern) bool {
	return bson.Equal(coll.Key.Spec().Value(), key.Spec().Value(), nil)
}

// extends reports whether a key begins with the fields of another and has more.
func extends(key, old shard.KeyPattern) bool {
	a, b := key.Fields(), old.Fields()
	return len(a) > len(b) && slices.EqualFunc(a[:len(b)], b, func(x, y shard.Field) bool {
		return x.Hashed == y.Hashed && x.Buckets == y.Buckets && x.Path.String() == y.Path.String()
	})
}
