package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// Plans are chosen anew for every command, so there is no plan cache to look at
// or to clear, and no filter of its indexes.

// runPlanCacheClear answers planCacheClear and planCacheClearFilters.
// Manual: reference/command/planCacheClear.
func runPlanCacheClear(c *Call) error {
	if _, err := c.Namespace(); err != nil {
		return err
	}
	return c.queryShapeArgs()
}

// queryShapeArgs reads the arguments that name a query shape.
// Errors: TypeMismatch (14), BadValue (2).
func (c *Call) queryShapeArgs() error {
	hasQuery, hasOther := false, false
	err := c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "query":
			hasQuery = !v.IsMissing()
			_, err = c.docArg(name, v)
		case "sort", "projection":
			hasOther = hasOther || !v.IsMissing()
			_, err = c.docArg(name, v)
		case "collation":
			_, err = c.docArg(name, v)
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
	return err
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
