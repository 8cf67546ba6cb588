package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
)

// runCount answers count. Manual: reference/command/count.
func runCount(c *Call) error {
	ns, err := c.readNamespace()
	if err != nil {
		return err
	}
	f, err := c.parseCount()
	if err != nil {
		return err
	}
	c.stats.command.Add(1)
	if c.isDerived(ns) {
		return c.countOnView(ns, f)
	}
	n, err := c.Cluster.Count(&c.Op, ns, f)
	if err != nil {
		return err
	}
	c.Reply.Int("n", n)
	return nil
}

// parseCount reads the arguments of count.
func (c *Call) parseCount() (f plan.Find, err error) {
	err = c.Each(func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "query":
			f.Filter, err = c.docArg(name, v)
		case "limit":
			if v.IsMissing() {
				return true, mongoerr.New(mongoerr.BadValue, "limit value is not a valid number")
			}
			f.Limit, err = c.intArg(name, v)
			f.Limit = max(f.Limit, -f.Limit) // a negative limit means the same
		case "skip":
			f.Skip, err = c.atLeast(name, v, 0)
		case "hint":
			f.Hint, err = c.givenHint(v)
		case "collation":
			err = c.setCollation(v)
		case "fields", "queryMetadata", "includeQueryStatsMetrics":
		default:
			known = false
		}
		return known, err
	})
	return f, err
}

// runDistinct answers distinct. Manual: reference/command/distinct.
func runDistinct(c *Call) error {
	ns, err := c.readNamespace()
	if err != nil {
		return err
	}
	a, err := c.parseDistinct()
	if err != nil {
		return err
	}
	if c.querySettings.concern(ns) {
		if err := c.applyQuerySettings(a.explained(ns)); err != nil {
			return err
		}
	}
	c.stats.command.Add(1)
	if c.isDerived(ns) {
		return c.distinctOnView(ns, &a)
	}
	values, err := c.Cluster.Distinct(&c.Op, ns, a.key, a.filter, a.hint)
	if err != nil {
		return err
	}
	c.Reply.Array("values", values)
	c.appendReadTime()
	return nil
}

// distinctArgs are the arguments of distinct.
type distinctArgs struct {
	key    string
	filter bson.Raw
	hint   bson.Value
}

// explained is the read that the distinct is, for its plan and shape.
func (a *distinctArgs) explained(ns collection.Namespace) *explained {
	return &explained{ns: ns, only: true, find: plan.Find{Filter: a.filter, Hint: a.hint}, keys: []string{a.key}}
}

// parseDistinct reads the arguments of distinct.
func (c *Call) parseDistinct() (a distinctArgs, err error) {
	err = c.Each(func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "key":
			if a.key, err = c.stringArg(name, v); err == nil && v.IsMissing() {
				err = mongoerr.MissingField(c.field(name))
			}
		case "query":
			a.filter, err = c.docArg(name, v)
		case "hint":
			a.hint, err = c.hintArg(v)
		case "collation":
			err = c.setCollation(v)
		case "includeQueryStatsMetrics":
		default:
			known = false
		}
		return known, err
	})
	if err == nil && a.key == "" && !hasField(c.Body, "key") {
		err = mongoerr.MissingField(c.field("key"))
	}
	return a, err
}

func hasField(d bson.Raw, name string) bool {
	_, ok := d.Lookup(name)
	return ok
}
