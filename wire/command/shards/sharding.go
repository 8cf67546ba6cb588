package shards

import (
	"bytes"
	"time"

	"github.com/cantledb/cantle/wire/command"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/balance"
)

// runListShards answers listShards. Manual: reference/command/listShards.
func (s *State) runListShards(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Reply.BeginArray("shards")
	for _, d := range s.shardDocs() {
		c.Reply.Raw("", d)
	}
	c.Reply.End()
	return nil
}

// runGetShardMap answers getShardMap. Manual: reference/command/getShardMap.
func (s *State) runGetShardMap(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	at := c.Server.Address()
	c.Reply.BeginDoc("map")
	for _, id := range s.shardIDs() {
		c.Reply.String(command.ShardName(id), s.shardHost(id))
	}
	c.Reply.String("config", at)
	c.Reply.End()
	c.Reply.BeginDoc("hosts")
	c.Reply.String(at, command.ShardName(0))
	c.Reply.End()
	c.Reply.BeginDoc("connStrings")
	for _, id := range s.shardIDs() {
		c.Reply.String(s.shardHost(id), command.ShardName(id))
	}
	c.Reply.End()
	return nil
}

// runSetAllowMigrations answers setAllowMigrations: a collection that must not migrate
// is one that the balancer leaves alone, as with noBalance in config.collections.
// Source: mongosh, sh.disableMigrations.
func runSetAllowMigrations(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	allow, given := false, false
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		if name != "allowMigrations" {
			return false, nil
		}
		given = !v.IsMissing()
		allow, err = c.BoolArg(name, v)
		return true, err
	})
	if err != nil {
		return err
	}
	if !given {
		return mongoerr.MissingField(c.Field("allowMigrations"))
	}
	return c.Server.DDL.SetBalancing(&c.Op, coll.Namespace, !allow, coll.Unmerged)
}

// balancerMode is how config.settings and balancerStatus call the state.
func (s *State) balancerMode() string {
	if s.balancerOff.Load() {
		return "off"
	}
	return "full"
}

// runBalancerStart and runBalancerStop answer balancerStart and balancerStop:
// whether partitions are split and merged without being asked.
// Manual: reference/command/balancerStart.
func (s *State) runBalancerStart(c *command.Call) error { return s.setBalancer(c, false) }

func (s *State) runBalancerStop(c *command.Call) error { return s.setBalancer(c, true) }

func (s *State) setBalancer(c *command.Call, off bool) error {
	err := c.Each(func(name string, _ bson.Value) (bool, error) { return name == "maxTimeMS", nil })
	if err != nil {
		return err
	}
	s.switchBalancer(c, off)
	return nil
}

func (s *State) switchBalancer(c *command.Call, off bool) {
	s.balancerOff.Store(off)
	if s.Balance != nil {
		s.Balance(!off)
	}
}

// runBalancerStatus answers balancerStatus.
// Manual: reference/command/balancerStatus.
func (s *State) runBalancerStatus(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Reply.String("mode", s.balancerMode())
	c.Reply.Bool("inBalancerRound", false)
	c.Reply.Int64("numBalancerRounds", 0)
	c.Reply.String("term", "n/a")
	return nil
}

// runFlushRouterConfig answers flushRouterConfig: 1 for all routing tables, or the name of a
// database or collection. There is nothing to flush: commands are routed by the catalog
// itself, of which no copy is kept.
// Manual: reference/command/flushRouterConfig.
func runFlushRouterConfig(c *command.Call) error {
	if name, ok := c.Value.Str(); ok {
		if err := command.CheckDatabaseName(collection.ParseNamespace(name).DB); err != nil {
			return err
		}
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Reply.Bool("flushed", true)
	return nil
}

// runBalancerCollectionStatus answers balancerCollectionStatus: a collection is
// balanced by definition, its partitions share its throughput evenly.
// Manual: reference/command/balancerCollectionStatus.
func runBalancerCollectionStatus(c *command.Call) error {
	if _, err := shardedCollection(c); err != nil {
		return err
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Reply.Int32("chunkSize", 128)
	c.Reply.Bool("balancerCompliant", true)
	return nil
}

// shardedCollection finds the sharded collection that a command is about.
// Errors: NamespaceNotSharded (118), those of shardedNamespace.
func shardedCollection(c *command.Call) (*catalog.Collection, error) {
	ns, err := shardedNamespace(c)
	if err != nil {
		return nil, err
	}
	coll := c.Cluster.Catalog.Peek().Collection(ns)
	if coll == nil || !coll.Sharded() {
		return nil, mongoerr.New(mongoerr.NamespaceNotSharded, "Collection '%s' is not sharded", ns)
	}
	return coll, nil
}

// runSplit answers split: the partition is divided in halves, or at the key given; a hash is given as {region: NumberLong(…)}.
// Manual: reference/command/split. Errors: CannotSplit.
func runSplit(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	p, err := parsePlace(c, "find", "bounds", "middle")
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
	at, ok, err := halfOf(c, coll, d)
	if err != nil {
		return err
	}
	if !ok {
		return mongoerr.New(mongoerr.CannotSplit, "chunk of %s on %s cannot be split: all its documents have one shard key", coll.Namespace, command.ShardName(d.ID))
	}
	return c.Server.Jobs.Split(c.Ctx, coll.Namespace, d.ID, at)
}

// halfOf is where a partition is halved: in the middle of its hashes, which
// spread evenly, or at the median of its ranged shard keys.
func halfOf(c *command.Call, coll *catalog.Collection, d *shard.Descriptor) (at shard.Position, ok bool, err error) {
	if coll.Map.Kind() != shard.Ranged {
		h, ok := d.Middle()
		return shard.HashPosition(h), ok, nil
	}
	return balance.SplitPoint(c.Ctx, c.Cluster.Store, coll, d, c.Cluster.Tally.Of(coll.ID).Shard(d.ID).Get().Docs)
}

// runMoveChunk answers moveChunk and moveRange: all partitions lie on this
// server, so no byte moves. Where a partition lies is its own number, so it gets
// another, unless that belongs to another partition of the collection.
// Manual: reference/command/moveChunk.
func (s *State) runMoveChunk(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	p, err := parsePlace(c, "find", "bounds", "min", "max", "to", "toShard", "forceJumbo", "_secondaryThrottle", "secondaryThrottle",
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

// runMergeChunks answers mergeChunks: neighbouring partitions become one.
// Manual: reference/command/mergeChunks.
func runMergeChunks(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	p, err := parsePlace(c, "bounds")
	if err != nil {
		return err
	}
	if len(p.bounds) != 2 {
		return mongoerr.MissingField(c.Field("bounds"))
	}
	lo, end, err := coll.Key.ParseBound(p.bounds[0], true)
	if err != nil {
		return err
	}
	hi, open, err := coll.Key.ParseBound(p.bounds[1], true)
	if err != nil {
		return err
	}
	if coll.Map.FindBegin(lo) == nil || end {
		return mongoerr.New(mongoerr.BadValue, "no chunk of %s begins at %s", coll.Namespace, p.bounds[0])
	}
	if !open && (len(hi) == 0 || coll.Map.FindBegin(hi) == nil) {
		return mongoerr.New(mongoerr.BadValue, "no chunk of %s ends at %s", coll.Namespace, p.bounds[1])
	}
	if open {
		hi = nil
	}
	within := shard.Range{Lo: lo, Hi: hi}
	for _, p := range coll.ZoneBounds() {
		if within.Contains(p) && !bytes.Equal(p, lo) {
			return mongoerr.New(mongoerr.IllegalOperation, "chunks on both sides of %s cannot be merged: a zone begins or ends there", coll.Key.Bound(p, bson.MinKey))
		}
	}
	return mergeWithin(c, coll, within)
}

// mergeWithin makes one partition of those in a range, which begins and ends
// where partitions do.
func mergeWithin(c *command.Call, coll *catalog.Collection, r shard.Range) error {
	for range coll.Map.Len() {
		now := c.Cluster.Catalog.Peek().ByID(coll.ID)
		if now == nil {
			return mongoerr.NoNamespace(coll.Namespace.String())
		}
		in := now.Map.FindRange(r)
		if len(in) < 2 {
			return nil
		}
		if err := c.Server.Jobs.Merge(c.Ctx, coll.Namespace, in[0].ID, in[1].ID); err != nil {
			return err
		}
	}
	return nil
}

// runSplitVector answers splitVector: the bounds between partitions inside a
// range.
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

// runNotSharding answers commands about several servers, which there are none of.
func runNotSharding(c *command.Call) error {
	return mongoerr.New(mongoerr.CommandNotSupported, "%s is not supported: all partitions lie on this server", c.Name())
}

// runGetShardVersion answers getShardVersion.
// Manual: reference/command/getShardVersion.
func runGetShardVersion(c *command.Call) error {
	ns := collection.Namespace{}
	if s, ok := c.Value.Str(); ok {
		ns = collection.ParseNamespace(s)
	}
	coll := c.Cluster.Catalog.Peek().Collection(ns)
	if coll == nil || !coll.Sharded() {
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Collection '%s' is not sharded", ns)
	}
	v := coll.Map.Version()
	c.Reply.Timestamp("version", uint32(v.Minor), 0)
	c.Reply.ObjectID("versionEpoch", epochOf(coll))
	c.Reply.Timestamp("versionTimestamp", uint32(v.Epoch), 1)
	return nil
}
