package shards

import (
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
		if at == nil || end {
			return mongoerr.New(mongoerr.CannotSplit, "%s is an end of the range of shard keys, not a key to split at", p.middle)
		}
		return c.Server.Jobs.Split(c.Ctx, coll.Namespace, coll.Map.FindPosition(at).ID, at)
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

// midpoint returns the position at which a partition is split in halves: the middle of its hashes, which are spread
// evenly, or the median of its ranged shard keys. ok is false if it cannot be split.
func midpoint(c *command.Call, coll *catalog.Collection, d *shard.Descriptor) (at shard.Position, ok bool, err error) {
	if coll.Map.Kind() != shard.Ranged {
		h, ok := d.Middle()
		return shard.HashPosition(h), ok, nil
	}
	return balance.SplitPoint(c.Ctx, c.Server.Jobs, coll, d)
}
