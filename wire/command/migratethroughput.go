package command

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
)

// migrateThroughput answers {customAction: "MigrateThroughput", throughputType:
// "autoscale", collection: "c"}; without a collection it is the database's.
// Source: Azure Cosmos DB, "set-throughput" (migrate between manual and autoscale),
// which has it outside of the wire protocol.
func migrateThroughput(c *Call, a *customArgs) error {
	if a.migrateTo == "" {
		return mongoerr.MissingField("customAction.throughputType")
	}
	a.ns.DB = c.DB
	if a.hasColl {
		if err := checkNamespace(a.ns); err != nil {
			return err
		}
	}
	t, err := c.Cluster.MigrateThroughput(&c.Op, a.ns, a.migrateTo == "autoscale")
	if err != nil {
		return err
	}
	cluster.AppendThroughput(c.Reply, t)
	return nil
}
