package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire/arguments"
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
	err = c.ReadArgs(
		arguments.By("key", func(v bson.Value) (err error) {
			if a.key, err = c.StringArg("key", v); err == nil && v.IsMissing() {
				err = mongoerr.MissingField(c.Field("key"))
			}
			return err
		}).WithNull(),
		arguments.Doc("query", &a.filter),
		arguments.Hint("hint", &a.hint),
		arguments.By("collation", c.SetCollation),
		arguments.StrictBool("includeQueryStatsMetrics", nil),
	)
	if err == nil && a.key == "" && !c.Body.Has("key") {
		err = mongoerr.MissingField(c.Field("key"))
	}
	return a, err
}
