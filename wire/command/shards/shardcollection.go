package shards

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runShardCollection shards a collection, whatever the database of the command is. On all listeners it also accepts the
// arguments of Azure Cosmos DB, and replies in the form of that service.
// Manual: reference/command/shardCollection; Azure Cosmos DB, "partition-data".
func (s *State) runShardCollection(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	var suffix bson.Raw
	opts := ddl.ShardOptions{Zones: s.planned.of(ns)}
	presplit := false
	err = c.ReadArgs(
		arguments.Doc("key", &opts.Key).Required(),
		arguments.Doc("suffix", &suffix),
		arguments.Bool("unique", &opts.Unique),
		arguments.By("numInitialChunks", func(v bson.Value) (err error) {
			opts.Shards, err = chunksArg(c, "numInitialChunks", v)
			return err
		}),
		arguments.Bool("presplitHashedZones", &presplit),
		arguments.Bool("implicitlyCreateIndex", nil),
		arguments.Bool("enforceUniquenessCheck", nil),
		arguments.Bool("unsplittable", nil),
		arguments.By("collation", func(v bson.Value) error { return simpleCollation(c, "collation", v) }),
		arguments.By("timeseries", func(bson.Value) error {
			return mongoerr.NotImplementedYet("option timeseries of shardCollection")
		}),
		c.ExpectUUID(ns),
	)
	switch {
	case err != nil:
		return err
	case opts.Key.IsEmpty():
		return mongoerr.New(mongoerr.InvalidOptions, "Empty shard key")
	case presplit && !hasHashedField(opts.Key):
		return mongoerr.New(mongoerr.InvalidOptions, "presplitHashedZones is only supported when the shard key has a hashed field")
	case presplit && len(opts.Zones) == 0:
		return mongoerr.New(mongoerr.InvalidOptions, "presplitHashedZones needs zones of %s, which has none: see updateZoneKeyRange", ns)
	}
	if opts.Key, err = shard.WithSuffix(opts.Key, suffix); err != nil {
		return err
	}
	if err := c.Server.DDL.ShardCollection(&c.Op, ns, opts); err != nil {
		return err
	}
	if err := s.planned.forget(c.Ctx, ns); err != nil {
		return err
	}
	c.RespondAlways("ShardCollectionResponse")
	c.Reply.String("collectionsharded", ns.String())
	return nil
}

// chunksArg reads an argument with the number of partitions to begin with, numInitialChunks; 0 if it is missing.
// Errors: TypeMismatch (14), InvalidOptions (72).
func chunksArg(c *command.Call, name string, v bson.Value) (int, error) {
	n, err := c.LongArg(name, v)
	if err != nil || v.IsMissing() {
		return 0, err
	}
	if n < 1 {
		return 0, mongoerr.New(mongoerr.InvalidOptions, "%s must be at least 1, got %d", name, n)
	}
	return int(min(n, 1<<30)), nil
}

// simpleCollation refuses any collation in a sharding command except the simple one, because shard keys are compared
// byte by byte.
// Errors: TypeMismatch (14), BadValue (2).
func simpleCollation(c *command.Call, name string, v bson.Value) error {
	d, err := c.DocArg(name, v)
	if err == nil && !d.IsEmpty() && d.Get("locale").String() != `"simple"` {
		err = mongoerr.New(mongoerr.BadValue, "The collation for %s must be {locale: 'simple'}, but found: %s", c.Name(), d)
	}
	return err
}

// shardedNamespace reads the namespace "db.coll" in the first field of a sharding command. It refuses local, config
// and system collections.
// Errors: TypeMismatch (14), InvalidNamespace (73), IllegalOperation (20).
func shardedNamespace(c *command.Call) (collection.Namespace, error) {
	if c.Value.Type != bson.TypeString {
		return collection.Namespace{}, mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "string")
	}
	s, _ := c.Value.Str()
	ns := collection.ParseNamespace(s)
	if ns.Coll == "" {
		return ns, mongoerr.BadNamespace(s)
	}
	if err := collection.CheckNamespace(ns); err != nil {
		return ns, err
	}
	if ns.DB == "local" || ns.DB == "config" || strings.HasPrefix(ns.Coll, "system.") {
		return ns, mongoerr.New(mongoerr.IllegalOperation, "can't shard %s", ns)
	}
	return ns, nil
}

// hasHashedField reports whether a shard key has a hashed field.
func hasHashedField(key bson.Raw) bool {
	for _, v := range key.Fields() {
		if s, ok := v.Str(); ok && s == "hashed" {
			return true
		}
	}
	return false
}
