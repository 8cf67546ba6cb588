package shards

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// The shards that clients see are the partitions of this server, which cannot be drained to another server. The
// commands for draining check the name of the shard, and reply as a cluster does for its last shard.

// namedShard reads the name of a shard, the only argument of the commands for draining.
// Errors: IDLFailedToParse (40414), TypeMismatch (14), ShardNotFound (70).
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

// runDrainShard refuses startShardDraining and removeShard, also for an existing shard. Manual:
// reference/command/startShardDraining, reference/command/removeShard. Errors: IllegalOperation (20), errors of
// namedShard.
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

// runNotDraining refuses shardDrainingStatus and commitShardRemoval: no shard is ever being drained. Manual:
// reference/command/shardDrainingStatus, reference/command/commitShardRemoval. Errors: IllegalOperation (20), errors of
// namedShard.
func (s *State) runNotDraining(c *command.Call) error {
	name, err := s.namedShard(c)
	if err != nil {
		return err
	}
	return mongoerr.New(mongoerr.IllegalOperation, "%s is not being drained", name)
}
