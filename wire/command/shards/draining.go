package shards

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// The shards of this server are its partitions, and all of them lie on it: none can be drained
// to elsewhere. The commands know which shards there are, and answer as a cluster does of its
// last one.

// namedShard reads the only argument of the commands about one shard.
// Errors: TypeMismatch (14), ShardNotFound (70).
func (s *State) namedShard(c *command.Call) (string, error) {
	if c.Value.IsNullish() {
		return "", mongoerr.MissingField(c.Field(c.Name()))
	}
	name, err := c.StringArg(c.Name(), c.Value)
	if err == nil {
		err = c.NoArguments()
	}
	if err == nil {
		_, err = s.shardNamed(name)
	}
	return name, err
}

// runDrainShard answers startShardDraining and removeShard.
// Manual: reference/command/startShardDraining, reference/command/removeShard.
// Errors: IllegalOperation (20).
func (s *State) runDrainShard(c *command.Call) error {
	name, err := s.namedShard(c)
	if err != nil {
		return err
	}
	return mongoerr.New(mongoerr.IllegalOperation, "%s cannot be drained: all partitions lie on this server, and there is no other", name)
}

// runStopShardDraining answers stopShardDraining: nothing is drained.
// Manual: reference/command/stopShardDraining.
func (s *State) runStopShardDraining(c *command.Call) error {
	_, err := s.namedShard(c)
	return err
}

// runNotDraining answers shardDrainingStatus and commitShardRemoval.
// Manual: reference/command/shardDrainingStatus, reference/command/commitShardRemoval.
// Errors: IllegalOperation (20).
func (s *State) runNotDraining(c *command.Call) error {
	name, err := s.namedShard(c)
	if err != nil {
		return err
	}
	return mongoerr.New(mongoerr.IllegalOperation, "%s is not being drained", name)
}
