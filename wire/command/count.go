package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// runCount answers count. Manual: reference/command/count.
func runCount(c *Call) error {
	ns, err := c.readNamespace()
	if err != nil {
		return err
	}
	var f plan.Find
	err = c.Each(func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "query":
			f.Filter, err = c.docArg(name, v)
		case "limit":
			f.Limit, err = c.intArg(name, v)
			f.Limit = max(f.Limit, -f.Limit) // a negative limit means the same
		case "skip":
			f.Skip, err = c.atLeast(name, v, 0)
		case "hint":
			f.Hint, err = c.hintArg(v)
		case "collation":
			err = c.setCollation(v)
		case "fields", "queryMetadata", "includeQueryStatsMetrics":
		default:
			known = false
		}
		return known, err
	})
	if err != nil {
		return err
	}
	c.stats.command.Add(1)
	if coll := c.Cluster.Catalog.Peek().Collection(ns); coll != nil && coll.IsView() {
		return c.countOnView(ns, f)
	}
	n, err := c.Cluster.Count(&c.Op, ns, f)
	if err != nil {
		return err
	}
	c.Reply.Int("n", n)
	return nil
}

// runDistinct answers distinct. Manual: reference/command/distinct.
func runDistinct(c *Call) error {
	ns, err := c.readNamespace()
	if err != nil {
		return err
	}
	var key string
	var filter bson.Raw
	var hint bson.Value
	err = c.Each(func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "key":
			if key, err = c.stringArg(name, v); err == nil && v.IsMissing() {
				err = mongoerr.MissingField(c.field(name))
			}
		case "query":
			filter, err = c.docArg(name, v)
		case "hint":
			hint, err = c.hintArg(v)
		case "collation":
			err = c.setCollation(v)
		case "includeQueryStatsMetrics":
		default:
			known = false
		}
		return known, err
	})
	switch {
	case err != nil:
		return err
	case key == "" && !hasField(c.Body, "key"):
		return mongoerr.MissingField(c.field("key"))
	}
	c.stats.command.Add(1)
	if coll := c.Cluster.Catalog.Peek().Collection(ns); coll != nil && coll.IsView() {
		return c.distinctOnView(ns, key, filter)
	}
	values, err := c.Cluster.Distinct(&c.Op, ns, key, filter, hint)
	if err != nil {
		return err
	}
	c.Reply.Array("values", values)
	return nil
}

func hasField(d bson.Raw, name string) bool {
	_, ok := d.Lookup(name)
	return ok
}
