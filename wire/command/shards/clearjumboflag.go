package shards

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/command"
)

// runClearJumboFlag only checks that the chunk of the command exists: no chunk here is ever too large to be split or
// moved, so there is no flag to clear. Manual: reference/command/clearJumboFlag.
func runClearJumboFlag(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	p, err := parseChunkSelector(c, "find", "bounds")
	switch {
	case err != nil:
		return err
	case (p.find == nil) == (p.bounds == nil):
		return mongoerr.New(mongoerr.InvalidOptions, "Must specify exactly one of 'find' or 'bounds' for clearJumboFlag")
	case p.find != nil && coll.Key.Kind() == shard.Hashed:
		return mongoerr.New(mongoerr.InvalidOptions, "Cannot use 'find' with the hashed shard key %s: name the 'bounds' of the chunk", coll.Key)
	}
	_, err = p.chunk(coll)
	return err
}
