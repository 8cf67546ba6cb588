package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// runListShards answers listShards. Manual: reference/command/listShards.
func runListShards(c *Call) error {
	if err := c.noArguments(); err != nil {
		return err
	}
	c.Reply.BeginArray("shards")
	for _, d := range c.shardDocs() {
		c.Reply.Raw("", d)
	}
	c.Reply.End()
	return nil
}

// runGetShardMap answers getShardMap. Manual: reference/command/getShardMap.
func runGetShardMap(c *Call) error {
	if err := c.noArguments(); err != nil {
		return err
	}
	at := c.address()
	c.Reply.BeginDoc("map")
	for _, id := range c.shardIDs() {
		c.Reply.String(shardName(id), at)
	}
	c.Reply.String("config", at)
	c.Reply.End()
	c.Reply.BeginDoc("hosts")
	c.Reply.String(at, shardName(0))
	c.Reply.End()
	c.Reply.BeginDoc("connStrings")
	c.Reply.String(at, shardName(0))
	c.Reply.End()
	return nil
}

// balancerMode is how config.settings and balancerStatus call the state.
func (s *Server) balancerMode() string {
	if s.balancerOff.Load() {
		return "off"
	}
	return "full"
}

// runBalancerStart and runBalancerStop answer balancerStart and balancerStop:
// whether partitions are split and merged without being asked.
// Manual: reference/command/balancerStart.
func runBalancerStart(c *Call) error { return c.setBalancer(false) }

func runBalancerStop(c *Call) error { return c.setBalancer(true) }

func (c *Call) setBalancer(off bool) error {
	err := c.Each(func(name string, _ bson.Value) (bool, error) { return name == "maxTimeMS", nil })
	if err != nil {
		return err
	}
	c.balancerOff.Store(off)
	if c.Balance != nil {
		c.Balance(!off)
	}
	return nil
}

// runBalancerStatus answers balancerStatus.
// Manual: reference/command/balancerStatus.
func runBalancerStatus(c *Call) error {
	if err := c.noArguments(); err != nil {
		return err
	}
	c.Reply.String("mode", c.balancerMode())
	c.Reply.Bool("inBalancerRound", false)
	c.Reply.Int64("numBalancerRounds", 0)
	c.Reply.String("term", "n/a")
	return nil
}

// runBalancerCollectionStatus answers balancerCollectionStatus: a collection is
// balanced by definition, its partitions share its throughput evenly.
// Manual: reference/command/balancerCollectionStatus.
func runBalancerCollectionStatus(c *Call) error {
	if _, err := c.shardedCollection(); err != nil {
		return err
	}
	if err := c.noArguments(); err != nil {
		return err
	}
	c.Reply.Int32("chunkSize", 128)
	c.Reply.Bool("balancerCompliant", true)
	return nil
}

// shardedCollection finds the sharded collection that a command is about.
// Errors: NamespaceNotSharded (118), those of shardedNamespace.
func (c *Call) shardedCollection() (*catalog.Collection, error) {
	ns, err := c.shardedNamespace()
	if err != nil {
		return nil, err
	}
	coll := c.Cluster.Catalog.Peek().Collection(ns)
	if coll == nil || !coll.Sharded() {
		return nil, mongoerr.New(mongoerr.NamespaceNotSharded, "Collection '%s' is not sharded", ns)
	}
	return coll, nil
}

// place is where a command wants to split, merge or move: a document or a value
// of the shard key, a bound, or a pair of bounds.
type place struct {
	find, middle, min, max bson.Raw
	bounds                 []bson.Raw
	to                     string
}

// parsePlace reads the arguments of the commands about chunks.
func (c *Call) parsePlace(allowed ...string) (p place, err error) {
	err = c.Each(func(name string, v bson.Value) (known bool, err error) {
		for _, a := range allowed {
			known = known || a == name
		}
		if !known {
			return false, nil
		}
		switch name {
		case "find":
			p.find, err = c.docArg(name, v)
		case "middle":
			p.middle, err = c.docArg(name, v)
		case "min":
			p.min, err = c.docArg(name, v)
		case "max":
			p.max, err = c.docArg(name, v)
		case "bounds":
			if !v.IsMissing() {
				if p.bounds, err = c.docArray(name, v, 2); err == nil && len(p.bounds) != 2 {
					err = mongoerr.New(mongoerr.BadValue, "'bounds' must hold two documents")
				}
			}
		case "to", "toShard", "shard":
			p.to, err = c.stringArg(name, v)
		}
		return true, err
	})
	return p, err
}

// chunk finds the partition that a place is in.
// Errors: BadValue (2), ShardKeyNotFound (61).
func (p *place) chunk(coll *catalog.Collection) (*shard.Descriptor, error) {
	switch {
	case p.find != nil:
		h, err := coll.Position(p.find)
		if err != nil {
			return nil, err
		}
		return coll.Map.Find(h), nil
	case len(p.bounds) == 2:
		if d := findChunk(coll, p.bounds[0]); d != nil {
			return d, nil
		}
		return nil, mongoerr.New(mongoerr.BadValue, "no chunk of %s begins at %s", coll.Namespace, p.bounds[0])
	case p.min != nil:
		if d := findChunk(coll, p.min); d != nil {
			return d, nil
		}
		return nil, mongoerr.New(mongoerr.BadValue, "no chunk of %s begins at %s", coll.Namespace, p.min)
	}
	return nil, mongoerr.New(mongoerr.BadValue, "one of 'find', 'bounds' and 'min' must be given")
}

// runSplit answers split: the partition is divided at the middle of its hashes,
// or at a hash given as {region: NumberLong(…)}.
// Manual: reference/command/split.
func runSplit(c *Call) error {
	coll, err := c.shardedCollection()
	if err != nil {
		return err
	}
	p, err := c.parsePlace("find", "bounds", "middle")
	if err != nil {
		return err
	}
	var d *shard.Descriptor
	var at keyspace.Hash
	if p.middle != nil {
		var ok bool
		if at, ok = hashOfBound(coll, p.middle); !ok {
			return mongoerr.New(mongoerr.BadValue, "'middle' must hold the hash of the shard key to split at, as config.chunks prints it")
		}
		d = coll.Map.Find(at)
	} else {
		if d, err = p.chunk(coll); err != nil {
			return err
		}
		var ok bool
		if at, ok = d.Middle(); !ok {
			return mongoerr.New(mongoerr.CannotSplit, "chunk of %s on %s cannot be split any further", coll.Namespace, shardName(d.ID))
		}
	}
	return c.Cluster.Jobs.Split(c.Ctx, coll.Namespace, d.ID, at)
}

// runMoveChunk answers moveChunk and moveRange: all partitions lie on this
// server, so nothing moves. Where a partition lies is its own number.
// Manual: reference/command/moveChunk.
func runMoveChunk(c *Call) error {
	coll, err := c.shardedCollection()
	if err != nil {
		return err
	}
	p, err := c.parsePlace("find", "bounds", "min", "max", "to", "toShard", "forceJumbo", "_secondaryThrottle", "secondaryThrottle",
		"waitForDelete", "_waitForDelete", "maxChunkSizeBytes")
	if err != nil {
		return err
	}
	if p.to == "" {
		return mongoerr.MissingField(c.field("to"))
	}
	known := false
	for _, id := range c.shardIDs() {
		known = known || shardName(id) == p.to
	}
	if !known {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", p.to)
	}
	d, err := p.chunk(coll)
	if err != nil {
		return err
	}
	if shardName(d.ID) != p.to {
		return mongoerr.New(mongoerr.IllegalOperation, "A partition cannot be moved: every partition of %s lies on this server under its own number; use split or the throughput of the collection instead", coll.Namespace)
	}
	c.Reply.Int64("millis", 0)
	return nil
}

// runMergeChunks answers mergeChunks: neighbouring partitions become one.
// Manual: reference/command/mergeChunks.
func runMergeChunks(c *Call) error {
	coll, err := c.shardedCollection()
	if err != nil {
		return err
	}
	p, err := c.parsePlace("bounds")
	if err != nil {
		return err
	}
	if len(p.bounds) != 2 {
		return mongoerr.MissingField(c.field("bounds"))
	}
	first := findChunk(coll, p.bounds[0])
	if first == nil {
		return mongoerr.New(mongoerr.BadValue, "no chunk of %s begins at %s", coll.Namespace, p.bounds[0])
	}
	for merged := 0; ; merged++ {
		m := c.Cluster.Catalog.Peek().ByID(coll.ID)
		if m == nil {
			return mongoerr.NoNamespace(coll.Namespace.String())
		}
		a, b := neighbours(m, p.bounds[0])
		if a == nil || endsAt(m, a, p.bounds[1]) {
			return nil
		}
		if b == nil || merged > coll.Map.Len() {
			return mongoerr.New(mongoerr.BadValue, "no chunk of %s ends at %s", coll.Namespace, p.bounds[1])
		}
		if err := c.Cluster.Jobs.Merge(c.Ctx, coll.Namespace, a.ID, b.ID); err != nil {
			return err
		}
	}
}

// neighbours are the partition that begins at a bound and the one after it.
func neighbours(coll *catalog.Collection, bound bson.Raw) (a, b *shard.Descriptor) {
	if a = findChunk(coll, bound); a != nil && a.Hi != nil {
		b = coll.Map.FindPosition(a.Hi)
	}
	return a, b
}

// endsAt reports a partition that ends at a bound.
func endsAt(coll *catalog.Collection, d *shard.Descriptor, bound bson.Raw) bool {
	b := bson.NewBuilder(nil)
	appendBound(b, "max", coll, d.Hi, bson.MaxKey)
	hi, _ := b.Doc().Get("max").Doc()
	return bson.Equal(hi.Value(), bound.Value(), nil)
}

// runSplitVector answers splitVector: the bounds between partitions inside a
// range, which is all that a hash range can tell.
// Manual: reference/command/splitVector.
func runSplitVector(c *Call) error {
	coll, err := c.shardedCollection()
	if err != nil {
		return err
	}
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "keyPattern", "min", "max":
			_, err = c.docArg(name, v)
		case "maxChunkSize", "maxChunkSizeBytes", "maxSplitPoints", "maxChunkObjects":
			_, err = c.longArg(name, v)
		case "force":
			_, err = c.boolArg(name, v)
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
		b := bson.NewBuilder(nil)
		appendBound(b, "k", coll, d.Lo, bson.MinKey)
		k, _ := b.Doc().Get("k").Doc()
		c.Reply.Raw("", k)
	}
	c.Reply.End()
	return nil
}

// runNotSharding answers commands about several servers, zones and other shard
// keys, which there are none of.
func runNotSharding(c *Call) error {
	return mongoerr.New(mongoerr.CommandNotSupported, "%s is not supported: all partitions lie on this server, and a shard key is chosen once", c.Name())
}

// runGetShardVersion answers getShardVersion.
// Manual: reference/command/getShardVersion.
func runGetShardVersion(c *Call) error {
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
