package plan

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// IndexFilter restricts the indexes that plans of one query shape may use, as set by planCacheSetFilter. Index
// filters are held in memory only, and lost when the process ends.
// Manual: core/query-plans#index-filters.
type IndexFilter struct {
	Query, Sort, Projection, Collation bson.Raw
	Indexes                            []bson.Value // names or key patterns

	shape string
}

// filtersBytesMax limits the memory of the index filters of all collections.
const filtersBytesMax = 16 << 20

// bytes returns the approximate memory of the filter.
func (f *IndexFilter) bytes() int {
	n := 512 + len(f.Query) + len(f.Sort) + len(f.Projection) + len(f.Collation) + len(f.shape)
	for _, v := range f.Indexes {
		n += 32 + len(v.Data)
	}
	return n
}

// filters holds the index filters by collection, in the order in which they were set.
type filters map[keyspace.CollectionID][]IndexFilter

// SetFilter sets the index filter of a query's shape, in place of an earlier one, and drops the cached plans of the
// collection. If the filters would exceed filtersBytesMax, it returns false, and nothing changes.
func (c *Cache) SetFilter(q *Query, f IndexFilter) bool {
	f.shape = q.FilterShape()
	c.mu.Lock()
	defer c.mu.Unlock()
	held := f.bytes()
	for id, list := range c.filters {
		for i := range list {
			if id != q.Coll.ID || list[i].shape != f.shape { // the earlier filter of the shape is replaced
				held += list[i].bytes()
			}
		}
	}
	if held > filtersBytesMax {
		return false
	}
	list := slices.DeleteFunc(c.filters[q.Coll.ID], func(o IndexFilter) bool { return o.shape == f.shape })
	c.filters[q.Coll.ID] = append(list, f)
	c.forget(q.Coll)
	return true
}

// ClearFilters drops the index filters of a collection; if q is not nil, only the filter of its shape. It drops all
// cached plans of the collection.
func (c *Cache) ClearFilters(coll *catalog.Collection, q *Query) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q == nil {
		delete(c.filters, coll.ID)
	} else {
		shape := q.FilterShape()
		c.filters[coll.ID] = slices.DeleteFunc(c.filters[coll.ID], func(o IndexFilter) bool { return o.shape == shape })
	}
	c.forget(coll)
}

// Filters returns the index filters of a collection.
func (c *Cache) Filters(coll *catalog.Collection) []IndexFilter {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.filters[coll.ID])
}

// Restrict returns the query with the index filter of its shape, or the query itself if there is none.
func (c *Cache) Restrict(q *Query) *Query {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := c.filters[q.Coll.ID]; len(list) > 0 {
		shape := q.FilterShape()
		for _, f := range list {
			if f.shape == shape {
				r := *q
				r.Only = f.Indexes
				return &r
			}
		}
	}
	return q
}
