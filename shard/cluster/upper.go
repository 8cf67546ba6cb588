package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// Upper is what the layer above does for the cluster: it knows things that the
// cluster does not, and keeps things that end with a collection. A nil function does
// nothing.
type Upper struct {
	// Info delivers the rows of stages about the server itself ($collStats,
	// $currentOp, …).
	Info func(o *Op, ns collection.Namespace, kind string, spec bson.Raw) ([]bson.Raw, error)
	// Virtual makes up the documents of collections that nobody stores
	// (config.chunks, …); ok is false for any other namespace.
	Virtual func(o *Op, ns collection.Namespace) (docs []bson.Raw, ok bool)
	// Dropped is told of collections that are gone, after Config.Dropped.
	Dropped func(ns collection.Namespace)
}

// Attach makes u the layer above. It is called once, before the first command.
func (c *Cluster) Attach(u Upper) { c.upper = u }
