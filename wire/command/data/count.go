package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
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
	err = c.Each(func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "query":
			f.Filter, err = c.DocArg(name, v)
		case "limit":
			if v.IsMissing() {
				return true, mongoerr.New(mongoerr.BadValue, "limit value is not a valid number")
			}
			f.Limit, err = c.IntArg(name, v)
			f.Limit = max(f.Limit, -f.Limit) // a negative limit counts as positive
		case "skip":
			f.Skip, err = c.AtLeast(name, v, 0)
		case "hint":
			f.Hint, err = c.GivenHint(v)
		case "collation":
			err = c.SetCollation(v)
		case "includeQueryStatsMetrics":
			_, err = c.StrictBool(name, v)
		case "fields", "queryMetadata":
		default:
			known = false
		}
		return known, err
	})
	return f, err
}
