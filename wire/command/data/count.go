package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runCount answers count. Manual: reference/command/count.
func runCount(c *command.Call) error {
	ns, err := c.ReadNamespace()
	if err != nil {
		return err
	}
	f, err := parseCount(c)
	if err != nil {
		return err
	}
	c.Server.Stats.Command.Add(1)
	if c.Server.Virtual.IsDerived(ns) {
		return countOnView(c, ns, f)
	}
	n, err := c.Cluster.Count(&c.Op, ns, f)
	if err != nil {
		return err
	}
	c.Reply.Int("n", n)
	return nil
}

// parseCount reads the arguments of count.
func parseCount(c *command.Call) (f plan.Find, err error) {
	err = c.ReadArgs(
		arguments.Doc("query", &f.Filter),
		arguments.By("limit", func(v bson.Value) (err error) {
			if !v.IsNumber() {
				return mongoerr.New(mongoerr.BadValue, "limit value is not a valid number")
			}
			if n, _ := v.AsFloat(); n != n {
				return mongoerr.New(mongoerr.FailedToParse, "Expected an integer, but found NaN in: limit: %s", v)
			}
			f.Limit, err = c.IntArg("limit", v)
			f.Limit = max(f.Limit, -f.Limit) // a negative limit counts as positive
			return err
		}).WithNull(),
		arguments.Long("skip", &f.Skip).Least(0),
		arguments.GivenHint("hint", &f.Hint),
		arguments.By("collation", c.SetCollation),
		arguments.StrictBool("includeQueryStatsMetrics", nil),
		arguments.Ignored("fields", "queryMetadata"),
	)
	return f, err
}
