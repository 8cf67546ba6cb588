package schema

import (
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runDBStats answers dbStats. Manual: reference/command/dbStats.
func (s *State) runDBStats(c *command.Call) error {
	scale, free, showFree := int64(1), int64(0), false
	err := c.ReadArgs(
		arguments.Long("scale", &scale).From(1),
		arguments.Bool("freeStorage", &showFree),
	)
	if err != nil {
		return err
	}
	if showFree {
		free = 1
	}
	var colls, views, indexes int64
	if c.Server.Virtual.HasViews(c.DB) {
		colls++ // system.views
	}
	var n tally.Count
	var storage, indexSize int64
	for _, coll := range c.Cluster.Catalog().Collections(c.DB) {
		if coll.IsView() {
			views++
			continue
		}
		docs := c.Cluster.Counts(coll.ID).Total(coll.Map)
		z, err := s.sizes(&c.Op, coll)
		if err != nil {
			return err
		}
		colls++
		indexes += int64(len(shownIndexes(coll)))
		n = n.Add(docs)
		storage += z.storage
		indexSize += z.total
	}
	b := c.Reply
	b.String("db", c.DB)
	b.Int64("collections", colls)
	b.Int64("views", views)
	b.Int64("objects", n.Docs)
	avg := 0.0
	if n.Docs > 0 {
		avg = float64(n.Bytes) / float64(n.Docs)
	}
	b.Double("avgObjSize", avg)
	scaled := func(name string, bytes int64) { b.Double(name, float64(bytes)/float64(scale)) }
	scaled("dataSize", n.Bytes)
	scaled("storageSize", storage)
	if free != 0 {
		scaled("freeStorageSize", 0)
	}
	b.Int64("indexes", indexes)
	scaled("indexSize", indexSize)
	if free != 0 {
		scaled("indexFreeStorageSize", 0)
	}
	scaled("totalSize", storage+indexSize)
	if free != 0 {
		scaled("totalFreeStorageSize", 0)
	}
	b.Int64("scaleFactor", scale)
	disk, all := s.disk()
	scaled("fsUsedSize", disk)
	scaled("fsTotalSize", all)
	if d := c.Cluster.Catalog().Database(c.DB); d != nil {
		ddl.AppendThroughput(b, d.Throughput)
	}
	return nil
}
