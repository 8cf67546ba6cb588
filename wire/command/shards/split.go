package shards

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/wire/command"
)

// runSplit splits a partition in halves, or at the key in the argument middle. A hash is given as {region:
// NumberLong(…)}.
// Manual: reference/command/split. Errors: CannotSplit.
func runSplit(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	p, err := parseChunkSelector(c, "find", "bounds", "middle")
	if err != nil {
		return err
	}
	if p.middle != nil {
		at, end, err := coll.Key.ParseBound(p.middle, true)
		if err != nil {
			return err
		}
		d := boundaryChunk(coll.Map, at, end)
		if d == nil {
			return c.Server.Jobs.Split(c.Ctx, coll.Namespace, coll.Map.FindPosition(at).ID, at)
		}
		return mongoerr.New(mongoerr.CannotSplit, "new split key %s is a boundary key of existing chunk [%s,%s)",
			p.middle, coll.Key.Bound(d.Lo, bson.MinKey), coll.Key.Bound(d.Hi, bson.MaxKey))
	}
	d, err := p.chunk(coll)
	if err != nil {
		return err
	}
	at, ok, err := midpoint(c, coll, d)
	if err != nil {
		return err
	}
	if !ok {
		return mongoerr.New(mongoerr.CannotSplit, "chunk of %s on %s cannot be split: all its documents have one shard key", coll.Namespace, command.ShardName(d.ID))
	}
	return c.Server.Jobs.Split(c.Ctx, coll.Namespace, d.ID, at)
}

// boundaryChunk returns the chunk of which a bound, as ParseBound returns it, is an end, so that it cannot be split there;
// nil if the bound lies inside a chunk. Programs that split in advance recognise this case by MongoDB's sentence.
func boundaryChunk(m *shard.Map, at shard.Position, end bool) *shard.Descriptor {
	switch all := m.Shards(); {
	case end:
		return all[len(all)-1]
	case at == nil:
		return all[0]
	}
	if d := m.FindPosition(at); bytes.Equal(d.Lo, at) {
		return d
	}
	return nil
}

// midpoint returns the position at which a partition is split in halves: the middle of its hashes, which are spread
// evenly, or the median of its ranged shard keys. ok is false if it cannot be split.
func midpoint(c *command.Call, coll *catalog.Collection, d *shard.Descriptor) (at shard.Position, ok bool, err error) {
	if coll.Map.Kind() != shard.Ranged {
		h, ok := d.Middle()
		return shard.HashPosition(h), ok, nil
	}
	return balance.SplitPoint(c.Ctx, c.Server.Jobs, coll, d)
}
