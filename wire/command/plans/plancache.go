package plans

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// runPlanCacheClear runs planCacheClear, which removes cached plans, and planCacheClearFilters, which removes index
// filters, at this server: of the given query shape, or all of the collection if no query is given.
// Manual: reference/command/planCacheClear, reference/command/planCacheClearFilters.
func runPlanCacheClear(c *command.Call) error {
	coll, err := plannedCollection(c)
	if err != nil {
		return err
	}
	var q *plan.Query
	if v := c.Body.Get("query"); v.Type == bson.TypeDocument {
		if q, _, err = queryShapeArgs(c, coll, false); err != nil {
			return err
		}
	}
	switch {
	case coll == nil:
	case c.Name() == "planCacheClear":
		c.Cluster.Plans.Clear(coll, q)
	default:
		c.Cluster.Plans.ClearFilters(coll, q)
	}
	return nil
}

// plannedCollection returns the collection that a command on the plan cache names, nil if it does not exist.
// Errors: CommandNotSupportedOnView (166).
func plannedCollection(c *command.Call) (*catalog.Collection, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	coll := c.Cluster.Catalog().Collection(ns)
	if coll != nil && (coll.IsView() || coll.Options.TimeSeries != nil) {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	return coll, nil
}

// queryShapeArgs reads the arguments that describe a query shape: query, sort, projection and collation. If coll is
// nil, it only checks them, and q is nil. Unless strict, a sort or projection that is no object counts as absent.
// Errors: BadValue (2), errors of parsing the query.
func queryShapeArgs(c *command.Call, coll *catalog.Collection, strict bool) (q *plan.Query, f plan.Find, err error) {
	if f.Filter, err = shapeArg(c, "query"); err == nil && f.Filter == nil {
		err = mongoerr.New(mongoerr.BadValue, "required field query missing")
	}
	given := func(name string) bool {
		t := c.Body.Get(name).Type
		return strict || t == bson.TypeDocument || t == bson.TypeArray
	}
	if err == nil && given("sort") {
		f.Sort, err = shapeArg(c, "sort")
	}
	if err == nil && given("projection") {
		f.Projection, err = shapeArg(c, "projection")
	}
	var collation bson.Raw
	if err == nil {
		if collation, err = shapeArg(c, "collation"); collation != nil {
			if collation.IsEmpty() {
				return nil, f, mongoerr.New(mongoerr.BadValue, "optional field collation cannot be empty")
			}
			err = c.SetCollation(collation.Value())
		}
	}
	if err != nil || coll == nil {
		return nil, f, err
	}
	if env := c.Env(); collation == nil && env.Collation == nil {
		env.Collation = coll.Options.Collation
	}
	q, err = plan.Canonical(c.Env(), coll, f)
	return q, f, err
}

// shapeArg returns a copy of an argument that must be an object or an array; nil if it is missing. Errors: BadValue
// (2).
func shapeArg(c *command.Call, name string) (bson.Raw, error) {
	v, ok := c.Body.Lookup(name)
	if !ok {
		return nil, nil
	}
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.BadValue, "field %s must be an object", name)
	}
	return bson.Raw(v.Data).Clone(), nil
}

// runPlanCacheSetFilter sets an index filter: from now on, queries of the given shape at this server may use only the
// given indexes.
// Manual: reference/command/planCacheSetFilter.
func runPlanCacheSetFilter(c *command.Call) error {
	coll, err := plannedCollection(c)
	if err != nil {
		return err
	}
	q, f, err := queryShapeArgs(c, coll, true)
	if err != nil {
		return err
	}
	list, ok := c.Body.Get("indexes").Array()
	if !ok || list.IsEmpty() {
		return mongoerr.New(mongoerr.BadValue, "required field indexes must be an array that names at least one index")
	}
	if coll == nil {
		return mongoerr.New(mongoerr.BadValue, "no such collection")
	}
	x := plan.IndexFilter{Query: f.Filter, Sort: f.Sort, Projection: f.Projection}
	for v := range list.Values() {
		d, isDoc := v.Doc()
		if v.Type != bson.TypeString && (!isDoc || d.IsEmpty()) {
			return mongoerr.New(mongoerr.BadValue, "each item in indexes must be a key pattern or the name of an index")
		}
		x.Indexes = append(x.Indexes, v.Clone())
	}
	if c.Body.Has("collation") {
		b := bson.NewBuilder(nil)
		c.Env().Collation.Append(b, "collation")
		x.Collation, _ = b.Doc().Get("collation").Doc()
	}
	if !c.Cluster.Plans.SetFilter(q, x) {
		return mongoerr.New(mongoerr.BadValue, "too many index filters: clear some with planCacheClearFilters")
	}
	return nil
}

// runPlanCacheListFilters answers planCacheListFilters.
// Manual: reference/command/planCacheListFilters.
func runPlanCacheListFilters(c *command.Call) error {
	coll, err := plannedCollection(c)
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginArray("filters")
	if coll != nil {
		for _, f := range c.Cluster.Plans.Filters(coll) {
			b.BeginDoc("")
			appendIndexFilter(b, &f)
			b.End()
			if err := c.CheckReplySize(); err != nil {
				return err
			}
		}
	}
	b.End()
	return nil
}

// appendIndexFilter appends an index filter.
func appendIndexFilter(b *bson.Builder, f *plan.IndexFilter) {
	orEmpty := func(name string, d bson.Raw) {
		if d == nil {
			d = bson.Empty
		}
		b.Raw(name, d)
	}
	orEmpty("query", f.Query)
	orEmpty("sort", f.Sort)
	orEmpty("projection", f.Projection)
	if f.Collation != nil {
		b.Raw("collation", f.Collation)
	}
	b.BeginArray("indexes")
	for _, v := range f.Indexes {
		b.Value("", v)
	}
	b.End()
}

// planCacheDocs returns the documents of $planCacheStats.
// Manual: reference/operator/aggregation/planCacheStats.
func (s *State) planCacheDocs(_ *cluster.Op, ns collection.Namespace, _ bson.Raw) ([]bson.Raw, error) {
	coll := s.Cluster.Catalog().Collection(ns)
	if coll == nil {
		return nil, nil
	}
	docs := s.Cluster.PlanCache(coll)
	for i, d := range docs {
		b := bson.NewBuilder(nil)
		b.Splice(d.Elements())
		b.String("host", s.Address())
		docs[i] = b.Doc()
	}
	return docs, nil
}
