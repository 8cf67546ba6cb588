package shards

import (
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runMoveChunk runs moveChunk and moveRange: the partition gets the number of the target shard, unless another
// partition of the collection has that number. A partition's place is its number, so no data moves.
// Manual: reference/command/moveChunk.
func (s *State) runMoveChunk(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	p, err := parseChunkSelector(c, "find", "bounds", "min", "max", "to", "toShard", "forceJumbo", "_secondaryThrottle", "secondaryThrottle",
		"waitForDelete", "_waitForDelete", "maxChunkSizeBytes")
	if err != nil {
		return err
	}
	if p.to == "" {
		return mongoerr.MissingField(c.Field("to"))
	}
	to, err := s.shardNamed(p.to)
	if err != nil {
		return err
	}
	d, err := p.chunk(coll)
	if err != nil {
		return err
	}
	began := time.Now()
	switch {
	case d.ID == to:
	case coll.Map.Shard(to) != nil:
		return mongoerr.New(mongoerr.IllegalOperation, "%s holds another partition of %s: each has a number, and RU/s, of its own; mergeChunks makes one of two neighbours", p.to, coll.Namespace)
	default:
		if err := c.Server.Jobs.Move(c.Ctx, coll.Namespace, d.ID, to); err != nil {
			return err
		}
	}
	c.Reply.Int64("millis", time.Since(began).Milliseconds())
	return nil
}
