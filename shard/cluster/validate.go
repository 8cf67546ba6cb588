package cluster

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/verify"
)

// Validate reads every record and every index entry of a collection at one snapshot and
// compares them. It changes nothing.
// Manual: reference/command/validate. Errors: NamespaceNotFound (26),
// CommandNotSupportedOnView (166), QueryPlanKilled (175) if the collection is dropped
// meanwhile: the check would be useless, and would keep the dropped data on the disk.
func (c *Cluster) Validate(o *Op, ns collection.Namespace) (*verify.Collection, error) {
	view, err := c.view(o, ns)
	if err != nil {
		return nil, err
	}
	defer view.close()
	coll, err := view.snap.Lookup(ns)
	if err != nil {
		return nil, err
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	return verify.Check(o.Env, view.reader, coll, func(int64) error {
		now := c.catalog.Peek()
		if now.ByID(coll.ID) != nil {
			return nil
		}
		if x := now.Collection(ns); x != nil && x.UUID == coll.UUID { // the same collection under another shard key
			return nil
		}
		return mongoerr.New(mongoerr.QueryPlanKilled, "collection %s was dropped while it was validated", ns)
	})
}
