package shards

import (
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runMoveCollection runs moveCollection: the only partition of the collection gets the number of the target shard. A
// partition's place is its number, so no data moves.
// Manual: reference/command/moveCollection.
func (s *State) runMoveCollection(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	to, given, err := s.toShard(c)
	if err != nil {
		return err
	}
	if !given {
		return mongoerr.MissingField(c.Field("toShard"))
	}
	return c.Server.DDL.MoveCollection(&c.Op, ns, to)
}

// toShard reads toShard, the only argument of the command: the name of a shard as listShards shows it. Without the
// argument it returns the shard with the least data.
// Errors: TypeMismatch (14), ShardNotFound (70).
func (s *State) toShard(c *command.Call) (to shard.ID, given bool, err error) {
	name := ""
	err = c.ReadArgs(arguments.String("toShard", &name).Given(&given))
	if err != nil {
		return 0, given, err
	}
	if !given {
		return s.lightestShard(), false, nil
	}
	to, err = s.shardNamed(name)
	return to, true, err
}

// shardNamed returns the number of a shard by its name in listShards. Errors: ShardNotFound (70).
func (s *State) shardNamed(name string) (shard.ID, error) {
	for _, id := range s.shardIDs() {
		if command.ShardName(id) == name {
			return id, nil
		}
	}
	return 0, mongoerr.New(mongoerr.ShardNotFound, "shard %s does not exist; listShards tells which there are", name)
}

// lightestShard returns the shard whose partitions have the fewest bytes of documents; of several such shards, the
// first.
func (s *State) lightestShard() shard.ID {
	bytes := map[shard.ID]int64{}
	s.Cluster.Catalog().EachMap(func(coll *catalog.Collection) {
		for _, d := range coll.Map.Shards() {
			bytes[d.ID] += s.Cluster.Counts(coll.ID).Shard(d.ID).Get().Bytes
		}
	})
	ids := s.shardIDs()
	least := ids[0]
	for _, id := range ids {
		if bytes[id] < bytes[least] {
			least = id
		}
	}
	return least
}
