package command

import (
	"strings"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
)

// With rawData: true a command reads and writes the buckets of a time-series collection instead of its measurements.
// For other collections the argument has no effect. Source: DRIVERS-3064.

// Buckets returns the namespace that the command uses for one that it names: with rawData that of the buckets, for a
// time-series collection.
func (c *Call) Buckets(ns collection.Namespace) collection.Namespace {
	if !c.rawData {
		return ns
	}
	if coll := c.Cluster.Catalog().Collection(ns); coll != nil && coll.Options.TimeSeries != nil {
		ns.Coll = catalog.BucketsPrefix + ns.Coll
	}
	return ns
}

// Named returns the namespace that the client has named, for the reply of a command that uses ns.
func (c *Call) Named(ns collection.Namespace) collection.Namespace {
	if c.rawData {
		ns.Coll = strings.TrimPrefix(ns.Coll, catalog.BucketsPrefix)
	}
	return ns
}
