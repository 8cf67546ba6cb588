package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// chunkSizeMax is the maximum chunk size in MiB. Manual: tutorial/modify-chunk-size-in-sharded-cluster.
const chunkSizeMax = 1024

// runConfigureCollectionBalancing switches the balancer's splits and merges of one collection's partitions on or off.
// defragmentCollection has no effect, because small partitions are merged automatically.
// Manual: reference/command/configureCollectionBalancing.
func runConfigureCollectionBalancing(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	balance, merge := !coll.Unbalanced, !coll.Unmerged
	err = c.ReadArgs(
		arguments.By("chunkSize", func(v bson.Value) error { return checkChunkSize(c, "chunkSize", v) }),
		arguments.Bool("defragmentCollection", nil),
		arguments.Bool("enableAutoMerger", &merge),
		arguments.Bool("enableBalancing", &balance),
	)
	if err != nil || balance == !coll.Unbalanced && merge == !coll.Unmerged {
		return err
	}
	return c.Server.DDL.SetBalancing(&c.Op, coll.Namespace, !balance, !merge)
}

// checkChunkSize refuses any chunkSize of a single collection except 0, which stands for the size that all
// collections have.
// Errors: InvalidOptions (72) out of range, CommandNotSupported (115) for another size.
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
