package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
)

// runExplain answers explain: the plan of a command, and with executionStats
// what running it did. Writes are not carried out.
// Manual: reference/command/explain, reference/explain-results.
func runExplain(c *Call) error {
	if c.Value.IsNullish() {
		return mongoerr.MissingField("explain.explain")
	}
	cmd, ok := c.Value.Doc()
	if !ok {
		return mongoerr.WrongType("explain.explain", c.Value.Type.String(), "object")
	}
	level := allPlans
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		if name != "verbosity" {
			return false, nil
		}
		if asked, ok, err := c.cosmosVerbosity(v); ok {
			level = asked
			return true, err
		}
		s, err := c.enumArg(name, v, "queryPlanner", "executionStats", "allPlansExecution")
		switch s {
		case "queryPlanner":
			level = planOnly
		case "executionStats":
			level = withStats
		}
		return true, err
	})
	if err != nil {
		return err
	}
	cmd = cmd.Clone()
	first, ok := cmd.First()
	if !ok {
		return mongoerr.NoCommand("")
	}
	def := c.lookup(string(first.Name))
	if def == nil {
		return mongoerr.NoCommand(string(first.Name))
	}
	if db, ok := cmd.Get("$db").Str(); ok && db != c.DB {
		return mongoerr.New(mongoerr.InvalidNamespace, "Mismatched $db in explain command. Expected %s but got %s", c.DB, db)
	}
	if def.Explain == nil {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot explain cmd: %s", def.Name)
	}
	inner := *c
	inner.Body, inner.Value, inner.Def = cmd, first.Value, def
	x, err := def.Explain(&inner)
	if err != nil {
		return err
	}
	x.command, x.level = cmd, level
	return inner.explain(x)
}

// explainFind reads a find to be explained.
func explainFind(c *Call) (x *explained, err error) {
	x = &explained{}
	if x.ns, err = c.readNamespace(); err != nil {
		return nil, err
	}
	a, err := c.parseFind()
	x.find = a.Find
	return x, err
}

// explainPipeline reads an aggregate to be explained.
func explainPipeline(c *Call) (x *explained, err error) {
	x = &explained{}
	if x.ns, err = c.aggregateNamespace(); err != nil {
		return nil, err
	}
	a, err := c.parseAggregate()
	x.pipeline, x.find.Hint = a.pipeline, a.hint
	return x, err
}

// explainUpdate reads an update to be explained.
func explainUpdate(c *Call) (*explained, error) {
	return c.explainableWrite("UPDATE", c.updateStatement)
}

// explainDelete reads a delete to be explained.
func explainDelete(c *Call) (*explained, error) {
	return c.explainableWrite("DELETE", c.deleteStatement)
}

// explainFindAndModify reads a findAndModify to be explained.
func explainFindAndModify(c *Call) (x *explained, err error) {
	x = &explained{}
	if x.ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	a, err := c.parseFindAndModify()
	x.find = plan.Find{Filter: a.query, Sort: a.sort, Hint: a.hint, Limit: 1}
	x.stage, x.upsert = "UPDATE", a.upsert
	if a.remove {
		x.stage = "DELETE"
	}
	if err != nil {
		return nil, err
	}
	x.modify = &cluster.Modify{Find: x.find, Upsert: a.upsert}
	if !a.remove {
		x.modify.Update, err = update.Parse(c.Env(), a.update, a.filters, update.Options{})
	}
	return x, err
}

// explainCount reads a count to be explained.
func explainCount(c *Call) (x *explained, err error) {
	x = &explained{stage: "COUNT", only: true}
	if x.ns, err = c.readNamespace(); err != nil {
		return nil, err
	}
	if x.find, err = c.parseCount(); err != nil {
		return nil, err
	}
	x.skipped = x.find.Skip
	if x.find.Limit > 0 {
		x.find.Limit += x.find.Skip
	}
	x.find.Skip = 0
	return x, nil
}

// explainDistinct reads a distinct to be explained.
func explainDistinct(c *Call) (x *explained, err error) {
	ns, err := c.readNamespace()
	if err != nil {
		return nil, err
	}
	a, err := c.parseDistinct()
	if err != nil {
		return nil, err
	}
	return a.explained(ns), nil
}

// explainableWrite reads the one statement of an update or delete.
func (c *Call) explainableWrite(stage string, parse func(bson.Raw) (statementArgs, error)) (x *explained, err error) {
	x = &explained{stage: stage}
	if x.ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	if err := c.setLet(c.Body.Get("let")); err != nil {
		return nil, err
	}
	docs, err := c.explainedDocs(c.Def.Statements)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, mongoerr.New(mongoerr.InvalidLength, "explained write batches must be of size 1")
	}
	a, err := parse(docs[0])
	if err != nil {
		return nil, err
	}
	x.find.Filter, _ = a.q.Doc()
	x.find.Sort = a.sort
	x.upsert = a.upsert
	if x.find.Hint, err = c.hintArg(a.hint); err != nil {
		return nil, err
	}
	if stage == "UPDATE" && !a.multi || a.limit == 1 {
		x.find.Limit = 1
	}
	if err := c.setCollation(a.collation); err != nil {
		return nil, err
	}
	x.modify = &cluster.Modify{Find: x.find, Multi: x.find.Limit == 0, Upsert: a.upsert}
	if stage == "UPDATE" {
		if a.constants != nil {
			if err := c.setLet(a.constants.Value()); err != nil {
				return nil, err
			}
		}
		x.modify.Update, err = update.Parse(c.Env(), a.u, a.filters, update.Options{Multi: a.multi})
	}
	return x, err
}

// explainedDocs is Docs for a command inside explain, which has no sequences.
func (c *Call) explainedDocs(name string) ([]bson.Raw, error) {
	v, ok := c.Body.Lookup(name)
	if !ok {
		return nil, mongoerr.MissingField(c.Name() + "." + name)
	}
	return c.docArray(name, v, 100000)
}

// explain opens the read, runs it if asked for, and prints what it knows.
func (c *Call) explain(x *explained) error {
	r := &report{c: c, x: x, trace: &cluster.Trace{}}
	if shape, err := c.queryShape(x); err == nil { // else the command has the error to tell
		r.shapeHash = shapeHash(shape)
		if r.setting = c.querySettings.of(x, r.shapeHash); r.setting != nil {
			c.Op.Allowed = r.setting.allowed
		}
	}
	if x.pipeline == nil && c.isDerived(x.ns) {
		x.pipeline = agg.NewOutline(findStages(x.find))
	}
	c.Op.Trace = r.trace
	var s *cluster.Stream
	var err error
	switch {
	case x.pipeline != nil:
		s, err = c.Cluster.Aggregate(&c.Op, x.ns, x.pipeline, x.find.Hint)
	case x.only && c.Cluster.Catalog.Peek().Collection(x.ns) != nil:
		s, err = c.Cluster.FindKeys(&c.Op, x.ns, x.find, x.keys)
	case x.stage != "":
		s, err = c.Cluster.FindInside(&c.Op, x.ns, x.find) // the documents of a write do not leave their partition
	default:
		s, err = c.Cluster.Find(&c.Op, x.ns, x.find)
	}
	if err != nil {
		return err
	}
	r.s = s
	r.estimate, err = s.Estimate(c.Env(), x.modify)
	if err == nil {
		err = r.run()
	}
	s.Close()
	if err != nil {
		return err
	}
	r.print(c.Reply)
	return nil
}

// explainAggregate answers aggregate with {explain: true}.
func (c *Call) explainAggregate(ns collection.Namespace, a aggregateArgs) error {
	return c.explain(&explained{ns: ns, pipeline: a.pipeline, find: plan.Find{Hint: a.hint}, command: c.Body, level: planOnly})
}
