package cluster

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/verify"
)

// Validate reads every record and every index entry of a collection at one snapshot and
// compares them. Nothing is changed.
// Manual: reference/command/validate. Errors: NamespaceNotFound (26),
// CommandNotSupportedOnView (166).
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
	return verify.Check(o.Env, view.reader, coll, nil)
}
