package schema

import (
	"strings"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runDrop answers drop. Manual: reference/command/drop.
func runDrop(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	err = c.ReadArgs(c.ExpectUUID(ns))
	if err != nil {
		return err
	}
	if ns.DB == "admin" && strings.HasPrefix(ns.Coll, "system.") {
		return mongoerr.New(mongoerr.IllegalOperation, "can't drop system collection %s", ns)
	}
	if ns.Coll == collection.ProfileCollection && c.Server.Profiler.Profiled(ns.DB) {
		return mongoerr.New(mongoerr.IllegalOperation, "turn off profiling before dropping system.profile collection")
	}
	if ns.Coll == "system.views" && c.Server.Virtual.HasViews(ns.DB) {
		return dropViews(c, ns)
	}
	coll := c.Cluster.Catalog().Collection(ns)
	if err := c.Cluster.CheckExpected(&c.Op); err != nil {
		return err
	}
	found, err := c.Server.DDL.Drop(&c.Op, ns)
	if err == nil && !found {
		c.Server.Sharding.Dropped(ns)
	}
	if err != nil || !found || coll == nil {
		return err
	}
	if !coll.IsView() {
		c.Reply.Int32("nIndexesWas", int32(len(shownIndexes(coll))))
	}
	c.Reply.String("ns", ns.String())
	return nil
}

// dropViews drops every view of a database, because a client has dropped the collection system.views, which holds
// them.
func dropViews(c *command.Call, ns collection.Namespace) error {
	for _, coll := range c.Cluster.Catalog().Collections(ns.DB) {
		if coll.IsView() {
			if _, err := c.Server.DDL.Drop(&c.Op, coll.Namespace); err != nil {
				return err
			}
		}
	}
	c.Reply.Int32("nIndexesWas", 1)
	c.Reply.String("ns", ns.String())
	return nil
}

// shownIndexes returns the indexes of a collection that clients see. A clustered or time-series collection does not
// show its index on _id.
func shownIndexes(coll *catalog.Collection) []*catalog.Index {
	shown := coll.UnstagedIndexes()
	if unlistedID(coll) {
		return shown[1:]
	}
	return shown
}

// unlistedID reports whether clients do not see the index on _id: in clustered and time-series collections.
func unlistedID(coll *catalog.Collection) bool {
	return (coll.Options.Clustered || coll.Options.TimeSeries != nil) && len(coll.Indexes) > 0
}
