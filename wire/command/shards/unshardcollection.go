package shards

import "github.com/cantledb/cantle/wire/command"

// runUnshardCollection makes a sharded collection unsharded, and replies when it has no shard key any more. Its only
// partition then has the number of toShard, or else of the shard with the least data. Manual:
// reference/command/unshardCollection.
func (s *State) runUnshardCollection(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	to, _, err := s.toShard(c)
	if err != nil {
		return err
	}
	return c.Server.DDL.UnshardCollection(&c.Op, ns, to)
}
