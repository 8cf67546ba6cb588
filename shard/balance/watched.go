package balance

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
)

// watched maintains, from pass to pass, the list of the collections that a Balancer checks. If a server has ten
// thousand collections, most are unsharded and have no throughput of their own: they never need balancing, and are not
// checked.
type watched struct {
	of     *catalog.Snapshot // nil before the first
	names  map[collection.Namespace]bool
	sorted []collection.Namespace // of names
}

// at returns the list of the collections to check at a version of the catalog, sorted by name. It is valid until the
// next call.
func (c *watched) at(s *catalog.Snapshot) []collection.Namespace {
	if c.of == s {
		return c.sorted
	}
	if c.of == nil {
		c.of, c.names = &catalog.Snapshot{}, map[collection.Namespace]bool{}
	}
	var gone, come []collection.Namespace
	s.Changes(c.of, func(was, is *catalog.Collection) {
		if was != nil && needsChecks(was) {
			gone = append(gone, was.Namespace)
		}
		if is != nil && needsChecks(is) {
			come = append(come, is.Namespace)
		}
	})
	for _, ns := range gone {
		delete(c.names, ns)
	}
	for _, ns := range come {
		c.names[ns] = true
	}
	if c.of = s; len(gone)+len(come) > 0 {
		c.sorted = slices.SortedFunc(maps.Keys(c.names), func(a, b collection.Namespace) int {
			return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Coll, b.Coll))
		})
	}
	return c.sorted
}

// needsChecks reports whether a collection may have to be split or merged, or may need more throughput.
func needsChecks(c *catalog.Collection) bool {
	return c.Map != nil && (c.Sharded() || c.Throughput.Mode != catalog.ThroughputNone)
}
