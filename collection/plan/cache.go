package plan

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Cache stores for each query shape the plan that won its trial, so that later queries of the shape need no trial.
// The first access after a collection's catalog entry has changed drops its entries. Safe for concurrent use.
// Manual: core/query-plans#plan-cache.
type Cache struct {
	mu    sync.Mutex
	colls map[keyspace.CollectionID]*shapes
	count int // number of entries of all collections

	filters filters
}

// Limits of the cache: the number of entries, and the number of uses of an entry after which the plans
// are tried again, because the data change.
const (
	cacheMax      = 5000
	usesPerTrial  = 500
	cacheSizeBase = 512 // approximate overhead of an entry in bytes, without its texts
)

// shapes holds the entries of one collection.
type shapes struct {
	version uint64
	entries map[string]*Entry
}

// Entry is the cached plan of one shape.
type Entry struct {
	Shape string
	// Winner is the Name of the solution that won.
	Winner string
	Works  int64
	// Created is the time of creation in Unix milliseconds.
	Created int64
	// Filter, Sort and Projection are the arguments of the query that was tried. Plan is the winning plan as
	// explain prints it.
	Filter, Sort, Projection, Plan bson.Raw
	Collation                      bson.Raw
	// Scores and Stats hold the score of each candidate plan in the trial and its execution statistics, the
	// winner first.
	Scores []float64
	Stats  []bson.Raw

	// Active entries are used. The first entry of a shape is inactive until a later trial confirms it.
	Active bool

	uses   int
	filter string // Query.FilterShape of the query
}

// NewCache makes an empty cache.
func NewCache() *Cache {
	return &Cache{colls: map[keyspace.CollectionID]*shapes{}, filters: filters{}}
}

// worksGrowth is the factor by which the works of an inactive cache entry grow after a trial that needed more,
// so that a later trial can confirm the entry.
const worksGrowth = 2

// Choose returns the candidate in sols that won the last trial of the query's shape, with its Works. It returns nil,
// so that the plans are tried again, if there is no active entry, its winner is not in sols, or it has been used
// usesPerTrial times; then the entry is also dropped.
func (c *Cache) Choose(q *Query, sols []*Solution) *Solution {
	shape := q.Shape()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of(q.Coll)
	e := s.entries[shape]
	if e == nil || !e.Active {
		return nil
	}
	if e.uses++; e.uses > usesPerTrial {
		c.drop(s, shape)
		return nil
	}
	for _, sol := range sols {
		if sol.Name() == e.Winner {
			sol.Works = e.Works
			return sol
		}
	}
	return nil
}

// of returns the shapes of a collection; under mu.
func (c *Cache) of(coll *catalog.Collection) *shapes {
	s := c.colls[coll.ID]
	if s == nil || s.version != coll.Version {
		if s != nil {
			c.count -= len(s.entries)
		}
		s = &shapes{version: coll.Version, entries: map[string]*Entry{}}
		c.colls[coll.ID] = s
	}
	return s
}

func (c *Cache) drop(s *shapes, shape string) {
	if _, ok := s.entries[shape]; ok {
		delete(s.entries, shape)
		c.count--
	}
}

// Disappointed deactivates the cache entry of the query's shape, until a trial confirms it. It is called when
// the cached plan did much worse than in its trial.
func (c *Cache) Disappointed(q *Query) {
	shape := q.Shape()
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.of(q.Coll).entries[shape]; e != nil {
		e.Active = false
	}
}

// RecordTrial stores the outcome of a trial of plans in the cache. The first entry of a query shape is
// inactive. The next trial replaces it by an active one if the winner takes no more works than the entry has;
// otherwise the entry becomes inactive and its works are doubled, as the limit for the trial after it.
// Manual: core/query-plans#plan-cache-entry-state.
func (c *Cache) RecordTrial(q *Query, e Entry) {
	e.Shape, e.filter = q.Shape(), q.FilterShape()
	e.Filter, e.Sort, e.Projection = q.Filter.Clone(), q.Sort.Clone(), q.Projection.Clone()
	if q.collation != nil {
		b := bson.NewBuilder(nil)
		q.collation.Append(b, "collation")
		e.Collation, _ = b.Doc().Get("collation").Doc()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= cacheMax { // rare enough to drop everything
		c.colls, c.count = map[keyspace.CollectionID]*shapes{}, 0
	}
	s := c.of(q.Coll)
	if before := s.entries[e.Shape]; before != nil {
		if e.Active = e.Works <= before.Works; !e.Active {
			before.Works, before.Active = before.Works*worksGrowth, false
			return
		}
	}
	c.drop(s, e.Shape)
	s.entries[e.Shape] = &e
	c.count++
}

// Clear drops all entries of a collection, or only those of q's filter shape if q is not nil.
// Manual: reference/command/planCacheClear.
func (c *Cache) Clear(coll *catalog.Collection, q *Query) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q == nil {
		c.forget(coll)
		return
	}
	s, shape := c.of(coll), q.FilterShape()
	for name, e := range s.entries {
		if e.filter == shape {
			c.drop(s, name)
		}
	}
}

// forget drops all entries of a collection; under mu.
func (c *Cache) forget(coll *catalog.Collection) {
	if s := c.colls[coll.ID]; s != nil {
		c.count -= len(s.entries)
		delete(c.colls, coll.ID)
	}
}

// Entries returns the entries of a collection, sorted by shape.
func (c *Cache) Entries(coll *catalog.Collection) []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of(coll)
	out := make([]Entry, 0, len(s.entries))
	for _, e := range s.entries {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Shape, b.Shape) })
	return out
}

// ShapeHash returns the hash that explain and $planCacheStats print for a shape.
func ShapeHash(shape string) string {
	h := fnv.New32a()
	h.Write([]byte(shape))
	return fmt.Sprintf("%08X", h.Sum32())
}

// Append writes the entry as $planCacheStats prints it into an open document.
// Manual: reference/operator/aggregation/planCacheStats.
func (e *Entry) Append(b *bson.Builder) {
	orEmpty := func(d bson.Raw) bson.Raw {
		if d.IsEmpty() {
			return bson.Empty
		}
		return d
	}
	hash := ShapeHash(e.Shape)
	b.String("version", "1")
	b.String("queryHash", hash)
	b.String("planCacheShapeHash", hash)
	b.String("planCacheKey", ShapeHash(e.Shape+e.Winner))
	b.Bool("isActive", e.Active)
	b.Int64("works", e.Works)
	b.String("worksType", "works")
	b.DateTime("timeOfCreation", e.Created)
	b.BeginDoc("createdFromQuery")
	b.Raw("query", orEmpty(e.Filter))
	b.Raw("sort", orEmpty(e.Sort))
	b.Raw("projection", orEmpty(e.Projection))
	if len(e.Collation) > 0 {
		b.Raw("collation", e.Collation)
	}
	b.End()
	b.Raw("cachedPlan", e.Plan)
	size := int64(cacheSizeBase + len(e.Shape) + len(e.Filter) + len(e.Plan))
	b.BeginArray("creationExecStats")
	for _, s := range e.Stats {
		size += int64(len(s))
		b.BeginDoc("")
		b.Int32("nReturned", int32AsNumber(s.Get("nReturned")))
		b.Raw("executionStages", s)
		b.End()
	}
	b.End()
	b.BeginArray("candidatePlanScores")
	for _, s := range e.Scores {
		b.Double("", s)
	}
	b.End()
	b.Bool("indexFilterSet", false)
	b.Int64("estimatedSizeBytes", size)
}

func int32AsNumber(v bson.Value) int32 {
	n, _ := v.AsInt64()
	return int32(n)
}
