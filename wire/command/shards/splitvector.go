package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runSplitVector replies with the bounds between the partitions of a collection. It ignores the range and the sizes
// in the arguments.
// Manual: reference/command/splitVector.
func runSplitVector(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	err = c.ReadArgs(
		arguments.Doc("keyPattern", nil),
		arguments.Doc("min", nil),
		arguments.Doc("max", nil),
		arguments.Long("maxChunkSize", nil),
		arguments.Long("maxChunkSizeBytes", nil),
		arguments.Long("maxSplitPoints", nil),
		arguments.Long("maxChunkObjects", nil),
		arguments.Bool("force", nil),
	)
	if err != nil {
		return err
	}
	c.Reply.BeginArray("splitKeys")
	for _, d := range coll.Map.Shards()[1:] {
		c.Reply.Raw("", coll.Key.Bound(d.Lo, bson.MinKey))
	}
	c.Reply.End()
	return nil
}
