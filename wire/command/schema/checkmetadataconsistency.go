package schema

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runCheckMetadataConsistency replies with the defects of the catalog: in the shard maps, zones and indexes of the
// sharded collections of a database, or of all databases if it runs on admin. With a collection name, it replies only
// with the defects of collections of that name.
// Manual: reference/command/checkMetadataConsistency, reference/inconsistency-type.
func runCheckMetadataConsistency(c *command.Call) error {
	only := ""
	if c.Value.Type == bson.TypeString {
		only, _ = c.Value.Str()
	}
	size, below := int64(-1), int64(0)
	err := c.ReadArgs(
		arguments.String("coll", &only),
		arguments.Bool("checkIndexes", nil),
		arguments.Truncated("performStrictChunkChecksIfBelowThreshold", &below).Check(func() error { // chunks are compared strictly, however many
			if below < 0 {
				return mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 0, actual value '%d'", c.Field("performStrictChunkChecksIfBelowThreshold"), below)
			}
			return nil
		}),
		arguments.CursorSize("cursor", &size),
	)
	if err != nil {
		return err
	}
	docs := []bson.Raw{}
	c.Cluster.Catalog().EachSharded(func(coll *catalog.Collection) {
		ns := coll.Namespace
		if (c.DB == "admin" || ns.DB == c.DB) && (only == "" || ns.Coll == only) {
			docs = append(docs, inconsistencies(coll)...)
		}
	})
	return c.ReplyList(collection.Namespace{DB: c.DB, Coll: "$cmd.aggregate"}, docs, size)
}

// inconsistencies returns the defects of a collection's catalog entry.
func inconsistencies(coll *catalog.Collection) (docs []bson.Raw) {
	add := func(kind, description string, details func(b *bson.Builder)) {
		b := bson.NewBuilder(nil)
		b.String("type", kind)
		b.String("description", description)
		b.BeginDoc("details")
		b.String("namespace", coll.Namespace.String())
		details(b)
		b.End()
		docs = append(docs, b.Doc())
	}
	if err := coll.Map.Check(); err != nil {
		add("RoutingTableRangeGap", "Partitions leave a gap, overlap, or share their index entries", func(b *bson.Builder) { b.String("error", err.Error()) })
	}
	for i, z := range coll.Zones {
		if i > 0 && (coll.Zones[i-1].Hi == nil || bytes.Compare(coll.Zones[i-1].Hi, z.Lo) > 0) {
			add("ZonesRangeOverlap", "Ranges of zones overlap", func(b *bson.Builder) {
				b.String("zone", coll.Zones[i-1].Name)
				b.String("other", z.Name)
			})
		}
	}
	if coll.Map.Kind() == shard.Ranged && !hasKeyIndex(coll) {
		add("MissingShardKeyIndex", "No index begins with the shard key", func(b *bson.Builder) { b.Raw("shardKey", coll.Key.Spec()) })
	}
	return docs
}

// hasKeyIndex reports whether the collection has an index whose first fields are those of the shard key.
func hasKeyIndex(coll *catalog.Collection) bool {
	for _, ix := range coll.Indexes {
		it, all := ix.Key.Iter(), true
		for name, want := range coll.Key.Spec().Fields() {
			all = all && it.Next() && bytes.Equal(it.Name, name) && bson.Equal(it.Value, want, nil)
		}
		if all {
			return true
		}
	}
	return false
}
