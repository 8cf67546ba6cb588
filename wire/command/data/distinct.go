package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// runDistinct answers distinct. Manual: reference/command/distinct.
func runDistinct(c *command.Call) error {
	ns, err := c.ReadNamespace()
	if err != nil {
		return err
	}
	a, err := parseDistinct(c)
	if err != nil {
		return err
	}
	if c.Server.Planner.HasSettings(ns) {
		if err := c.Server.Planner.ApplySettings(c, a.explained(ns)); err != nil {
			return err
		}
	}
	c.Server.Stats.Command.Add(1)
	if c.Server.Virtual.IsDerived(ns) {
		return distinctOnView(c, ns, &a)
	}
	values, err := c.Cluster.Distinct(&c.Op, ns, a.key, a.filter, a.hint)
	if err != nil {
		return err
	}
	c.Reply.Array("values", values)
	c.AppendReadTime()
	return nil
}

// distinctArgs holds the arguments of distinct.
type distinctArgs struct {
	key    string
	filter bson.Raw
	hint   bson.Value
}

// explained returns the read of the distinct, for its plan and shape.
func (a *distinctArgs) explained(ns collection.Namespace) *explained.Explained {
	return &explained.Explained{Ns: ns, Only: true, Find: plan.Find{Filter: a.filter, Hint: a.hint}, Keys: []string{a.key}}
}

// parseDistinct reads the arguments of distinct.
func parseDistinct(c *command.Call) (a distinctArgs, err error) {
	err = c.Each(func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "key":
			if a.key, err = c.StringArg(name, v); err == nil && v.IsMissing() {
				err = mongoerr.MissingField(c.Field(name))
			}
		case "query":
			a.filter, err = c.DocArg(name, v)
		case "hint":
			a.hint, err = c.HintArg(v)
		case "collation":
			err = c.SetCollation(v)
		case "includeQueryStatsMetrics":
			_, err = c.StrictBool(name, v)
		default:
			known = false
		}
		return known, err
	})
	if err == nil && a.key == "" && !c.Body.Has("key") {
		err = mongoerr.MissingField(c.Field("key"))
	}
	return a, err
}
