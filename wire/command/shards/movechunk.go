package shards

import (
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/command"
)

// runMoveChunk runs moveChunk and moveRange: the partition gets the number of the target shard. A partition's place is
// its number, so no data moves.
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
	to, err := s.target(coll, p.to)
	if err != nil {
		return err
	}
	d, err := p.chunk(coll)
	if err != nil {
		return err
	}
	began := time.Now()
	if d.ID != to {
		if err := s.move(c, coll, d.ID, to); err != nil {
			return err
		}
	}
	c.Reply.Int64("millis", time.Since(began).Milliseconds())
	return nil
}

// target returns the shard with a name. It may also be one where the collection has no partition any more: since the
// client read the list of shards, a split or a move may have emptied it.
// Errors: ShardNotFound (70).
func (s *State) target(coll *catalog.Collection, name string) (shard.ID, error) {
	for id := range coll.Map.NextID() {
		if command.ShardName(id) == name {
			return id, nil
		}
	}
	return s.shardNamed(name)
}

// move gives the partition id of a collection the number to. If another partition of the collection has this number,
// the two exchange their numbers, because a shard holds one partition of a collection at most. If the exchange is
// interrupted, the other partition keeps a number that was in no use before.
// Errors: those of jobs.Runner.Move.
func (s *State) move(c *command.Call, coll *catalog.Collection, id, to shard.ID) error {
	type step struct{ id, to shard.ID }
	steps := []step{{id, to}}
	if coll.Map.Shard(to) != nil {
		ids := s.shardIDs()
		unused := ids[len(ids)-1] + 1
		steps = []step{{to, unused}, {id, to}, {unused, id}}
	}
	for _, m := range steps {
		if err := c.Server.Jobs.Move(c.Ctx, coll.Namespace, m.id, m.to); err != nil {
			return err
		}
	}
	return nil
}
