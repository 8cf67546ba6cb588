package shards

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runGetShardVersion answers getShardVersion.
// Manual: reference/command/getShardVersion.
func runGetShardVersion(c *command.Call) error {
	ns := collection.Namespace{}
	if s, ok := c.Value.Str(); ok {
		ns = collection.ParseNamespace(s)
	}
	coll := c.Cluster.Catalog().Collection(ns)
	if coll == nil || !coll.Sharded() {
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Collection '%s' is not sharded", ns)
	}
	v := coll.Map.Version()
	c.Reply.Timestamp("version", uint32(v.Minor), 0)
	c.Reply.ObjectID("versionEpoch", epochOf(coll))
	c.Reply.Timestamp("versionTimestamp", uint32(v.Epoch), 1)
	return nil
}
