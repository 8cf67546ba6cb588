package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// chunkSizeMax is the maximum chunk size in MiB. Manual: tutorial/modify-chunk-size-in-sharded-cluster.
const chunkSizeMax = 1024

// runConfigureCollectionBalancing answers configureCollectionBalancing, which switches splits and merges of a
// collection's partitions on or off. Small partitions are merged automatically, so that there is nothing to
// defragment.
// Manual: reference/command/configureCollectionBalancing.
func runConfigureCollectionBalancing(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	unbalanced, unmerged := coll.Unbalanced, coll.Unmerged
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		on := false
		switch name {
		case "chunkSize":
			err = checkChunkSize(c, name, v)
		case "defragmentCollection":
			_, err = c.BoolArg(name, v)
		case "enableAutoMerger":
			if on, err = c.BoolArg(name, v); !v.IsMissing() {
				unmerged = !on
			}
		case "enableBalancing":
			if on, err = c.BoolArg(name, v); !v.IsMissing() {
				unbalanced = !on
			}
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil || unbalanced == coll.Unbalanced && unmerged == coll.Unmerged {
		return err
	}
	return c.Server.DDL.SetBalancing(&c.Op, coll.Namespace, unbalanced, unmerged)
}

// checkChunkSize accepts 0, which stands for the size of all collections.
// Errors: InvalidOptions (72), CommandNotSupported (115) for a size of its own.
func checkChunkSize(c *command.Call, name string, v bson.Value) error {
	n, err := c.LongArg(name, v)
	switch {
	case err != nil || n == 0:
		return err
	case n < 0 || n > chunkSizeMax:
		return mongoerr.New(mongoerr.InvalidOptions, "Chunk size '%d' out of range [1, %d]", n, chunkSizeMax)
	}
	return mongoerr.New(mongoerr.CommandNotSupported, "a chunkSize of one collection is not supported: all partitions of the server split at the same size")
}
