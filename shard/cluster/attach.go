package cluster

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// Upper holds the functions that the layer above provides to the cluster: they supply information that the cluster
// lacks, and release what ends with a collection. Without Info its stages are refused; any other nil function does
// nothing.
type Upper struct {
	// Info delivers the rows of stages about the server itself ($collStats,
	// $currentOp, …).
	Info func(o *Op, ns collection.Namespace, kind string, spec bson.Raw) ([]bson.Raw, error)
	// Virtual computes the documents of collections that are not stored
	// (config.chunks, …); ok is false for any other namespace.
	Virtual func(o *Op, ns collection.Namespace) (docs []bson.Raw, ok bool)
	// Pages returns a function that computes the documents of a collection that is not stored page by page, for
	// collections too large for memory; nil for any other namespace. The function returns no documents at the end, and may leave
	// out documents that do not match filter, which is nil for none.
	Pages func(o *Op, ns collection.Namespace, filter bson.Raw) func(context.Context) ([]bson.Raw, error)
	// Dropped is called for the namespace of a dropped or renamed collection, after Config.Dropped, to release what
	// the layer above holds of it.
	Dropped func(ns collection.Namespace)
}

// Attach sets the layer above. It is called once, before the first command.
func (c *Cluster) Attach(u Upper) { c.upper = u }
