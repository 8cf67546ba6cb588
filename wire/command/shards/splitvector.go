package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// runSplitVector answers splitVector: the bounds between partitions inside a range.
// Manual: reference/command/splitVector.
func runSplitVector(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "keyPattern", "min", "max":
			_, err = c.DocArg(name, v)
		case "maxChunkSize", "maxChunkSizeBytes", "maxSplitPoints", "maxChunkObjects":
			_, err = c.LongArg(name, v)
		case "force":
			_, err = c.BoolArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
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
