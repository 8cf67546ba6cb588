package shards

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/command"
)

// migrateThroughput runs {customAction: "MigrateThroughput", throughputType: "autoscale", collection: "c"}, which
// changes a throughput from manual to autoscale, or back. Without a collection it changes the throughput of the
// database.
// Source: Azure Cosmos DB, "set-throughput" (migrate between manual and autoscale), which has this operation outside
// of the wire protocol.
func migrateThroughput(c *command.Call, a *customArgs) error {
	if a.migrateTo == "" {
		return mongoerr.MissingField("customAction.throughputType")
	}
	a.ns.DB = c.DB
	if a.hasColl {
		if err := collection.CheckNamespace(a.ns); err != nil {
			return err
		}
	}
	t, err := c.Server.DDL.MigrateThroughput(&c.Op, a.ns, a.migrateTo == "autoscale")
	if err != nil {
		return err
	}
	ddl.AppendThroughput(c.Reply, t)
	return nil
}
