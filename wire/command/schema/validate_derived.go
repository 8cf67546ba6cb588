package schema

import (
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// virtualCount returns the number of documents of a collection that is computed when it is read, such as
// system.views; ok is false for other collections.
func (s *State) virtualCount(c *command.Call, ns collection.Namespace) (docs int64, ok bool) {
	snap := c.Cluster.Catalog()
	if snap.Collection(ns) != nil {
		return 0, false
	}
	if ns == cluster.OplogNamespace {
		docs, _ = s.Jobs.LogLength()
		return docs, true
	}
	list, ok := c.Server.Virtual.Docs(&c.Op, ns)
	if !ok && ns.Coll == "system.views" { // system.views is listed also for time-series collections
		ok = slices.ContainsFunc(snap.Collections(ns.DB), func(c *catalog.Collection) bool { return c.Options.TimeSeries != nil })
	}
	return int64(len(list)), ok
}

// validateDerived replies for a virtual collection, which cannot be inconsistent.
func validateDerived(c *command.Call, ns collection.Namespace, docs int64, flags map[string]bool) {
	b := c.Reply
	b.String("ns", ns.String())
	uuid := catalog.VirtualUUID(ns.String())
	b.Binary("uuid", 4, uuid[:])
	if flags["metadata"] {
		b.Int32("nIndexes", 1)
		validateTail(c, nil, flags)
		return
	}
	b.Int("nInvalidDocuments", 0)
	b.Int("nNonCompliantDocuments", 0)
	b.Int("nrecords", docs)
	b.Int32("nIndexes", 1)
	b.BeginDoc("keysPerIndex")
	b.Int("_id_", docs)
	b.End()
	b.BeginDoc("indexDetails")
	b.BeginDoc("_id_")
	b.Bool("valid", true)
	b.BeginDoc("spec")
	appendIDIndex(b)
	b.End()
	b.End()
	b.End()
	validateTail(c, nil, flags)
}
