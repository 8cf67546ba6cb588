package shards

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runMergeChunks answers mergeChunks: it merges adjacent partitions.
// Manual: reference/command/mergeChunks.
func runMergeChunks(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	p, err := parseChunkSelector(c, "bounds")
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

// mergeWithin merges all partitions in a range into one. The caller has checked that the ends of the range are ends of
// partitions.
func mergeWithin(c *command.Call, coll *catalog.Collection, r shard.Range) error {
	for range coll.Map.Len() {
		now := c.Cluster.Catalog().ByID(coll.ID)
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

// runMergeAllChunksOnShard only checks the arguments of mergeAllChunksOnShard, which merges adjacent chunks on one
// shard: here each partition of a collection is on a shard of its own, so no two can be merged.
// Manual: reference/command/mergeAllChunksOnShard. Errors: ShardNotFound (70).
func (s *State) runMergeAllChunksOnShard(c *command.Call) error {
	if _, err := shardedCollection(c); err != nil {
		return err
	}
	shard := ""
	err := c.ReadArgs(
		arguments.String("shard", &shard),
		arguments.Long("maxNumberOfChunksToMerge", nil),
		arguments.Long("maxTimeProcessingChunksMS", nil),
	)
	if err != nil {
		return err
	}
	if shard == "" {
		return mongoerr.MissingField(c.Field("shard"))
	}
	if !slices.ContainsFunc(s.shardDocs(), func(d bson.Raw) bool { id, _ := d.Get("_id").Str(); return id == shard }) {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", shard)
	}
	return nil
}
