package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// runPlanCacheClear answers planCacheClear and planCacheClearFilters.
// Manual: reference/command/planCacheClear.
func runPlanCacheClear(c *Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	f, hasShape, err := c.queryShapeArgs()
	coll := c.Cluster.Catalog.Peek().Collection(ns)
	if err != nil || coll == nil || coll.IsView() {
		return err
	}
	var q *plan.Query
	if hasShape {
		if q, err = plan.Canonical(c.Env(), coll, f); err != nil {
			return err
		}
	}
	if c.Name() == "planCacheClear" {
		c.Cluster.Plans.Clear(coll, q)
	} else {
		c.Cluster.Plans.ClearFilters(coll, q)
	}
	return nil
}

// planCacheDocs is $planCacheStats.
// Manual: reference/operator/aggregation/planCacheStats.
func (s *Server) planCacheDocs(ns collection.Namespace) []bson.Raw {
	coll := s.Cluster.Catalog.Peek().Collection(ns)
	if coll == nil {
		return nil
	}
	docs := s.Cluster.PlanCache(coll)
	for i, d := range docs {
		b := bson.NewBuilder(nil)
		b.Splice(d.Elements())
		b.String("host", s.address())
		docs[i] = b.Doc()
	}
	return docs
}

// queryShapeArgs reads the arguments that name a query shape.
// Errors: TypeMismatch (14), BadValue (2).
func (c *Call) queryShapeArgs() (f plan.Find, hasQuery bool, err error) {
	hasOther := false
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "query":
			hasQuery = !v.IsMissing()
			f.Filter, err = c.docArg(name, v)
		case "sort":
			hasOther = hasOther || !v.IsMissing()
			f.Sort, err = c.docArg(name, v)
		case "projection":
			hasOther = hasOther || !v.IsMissing()
			f.Projection, err = c.docArg(name, v)
		case "collation":
			if d, _ := v.Doc(); v.Type == bson.TypeDocument && !d.IsEmpty() {
				err = c.setCollation(v)
			} else {
				_, err = c.docArg(name, v)
			}
		case "planCacheKey":
			_, err = c.stringArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && hasOther && !hasQuery {
		err = mongoerr.New(mongoerr.BadValue, "sort or projection provided without query")
	}
	return f, hasQuery, err
}

// runPlanCacheListFilters answers planCacheListFilters.
// Manual: reference/command/planCacheListFilters.
func runPlanCacheListFilters(c *Call) error {
	if _, err := c.Namespace(); err != nil {
		return err
	}
	if err := c.noArguments(); err != nil {
		return err
	}
	c.Reply.BeginArray("filters")
	c.Reply.End()
	return nil
}

// runPlanCacheSetFilter refuses planCacheSetFilter: hints and hidden indexes do
// the same where they are wanted.
func runPlanCacheSetFilter(*Call) error { return mongoerr.NotImplementedYet("planCacheSetFilter") }
