package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// statusPartitionLoad appends the collections with a hot partition, at their limit, or with refused requests, in the
// last minute.
func statusPartitionLoad(c *command.Call, b *bson.Builder) {
	list := c.Cluster.Skewed(func(*catalog.Collection) bool { return true })
	refused := 0.0
	for i := range list {
		refused += list[i].Refused
	}
	b.Int64("refusedLastMinute", int64(refused+0.5))
	b.Int32("collections", int32(len(list)))
	cluster.AppendSkewed(b, "worst", list)
}
