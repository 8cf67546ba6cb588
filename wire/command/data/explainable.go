package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// explainFind reads a find to be explained.
func explainFind(c *command.Call) (x *explained.Explained, err error) {
	x = &explained.Explained{}
	if x.Ns, err = c.ReadNamespace(); err != nil {
		return nil, err
	}
	a, err := parseFind(c)
	x.Find = a.Find
	return x, err
}

// explainPipeline reads an aggregate to be explained.
func explainPipeline(c *command.Call) (x *explained.Explained, err error) {
	x = &explained.Explained{}
	if x.Ns, err = aggregateNamespace(c); err != nil {
		return nil, err
	}
	if err := explainedConcern(c); err != nil {
		return nil, err
	}
	a, err := parseAggregate(c)
	x.Pipeline, x.Find.Hint = a.pipeline, a.hint
	return x, err
}

// explainedConcern refuses a write concern of a pipeline that is explained, which writes nothing.
func explainedConcern(c *command.Call) error {
	if c.Body.Has("writeConcern") {
		return mongoerr.New(mongoerr.FailedToParse, "An aggregation that is explained writes nothing: it takes no 'writeConcern'")
	}
	return nil
}

// explainUpdate reads an update to be explained.
func explainUpdate(c *command.Call) (*explained.Explained, error) {
	return explainableWrite(c, "UPDATE", func(d bson.Raw) (statementArgs, error) { return updateStatement(c, d) })
}

// explainDelete reads a delete to be explained.
func explainDelete(c *command.Call) (*explained.Explained, error) {
	return explainableWrite(c, "DELETE", func(d bson.Raw) (statementArgs, error) { return deleteStatement(c, d) })
}

// explainMapReduce reads a mapReduce to be explained: the read that it begins with.
func explainMapReduce(c *command.Call) (x *explained.Explained, err error) {
	x = &explained.Explained{}
	if x.Ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	a, err := parseMapReduce(c)
	if err != nil {
		return nil, err
	}
	x.Find = a.Find
	return x, nil
}

// explainFindAndModify reads a findAndModify to be explained.
func explainFindAndModify(c *command.Call) (x *explained.Explained, err error) {
	x = &explained.Explained{}
	if x.Ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	a, err := parseFindAndModify(c)
	x.Find = plan.Find{Filter: a.query, Sort: a.sort, Hint: a.hint, Limit: 1}
	x.Stage, x.Upsert = "UPDATE", a.upsert
	if a.remove {
		x.Stage = "DELETE"
	}
	if err != nil {
		return nil, err
	}
	x.Modify = &cluster.Modify{Find: x.Find, Upsert: a.upsert}
	c.Cluster.UseDefaultCollation(&c.Op, x.Ns)
	if !a.remove {
		x.Modify.Update, err = update.Parse(c.Env(), a.update, a.filters, update.Options{})
	}
	return x, err
}

// explainCount reads a count to be explained.
func explainCount(c *command.Call) (x *explained.Explained, err error) {
	x = &explained.Explained{Stage: "COUNT", Only: true}
	if x.Ns, err = c.ReadNamespace(); err != nil {
		return nil, err
	}
	if x.Find, err = parseCount(c); err != nil {
		return nil, err
	}
	x.Skipped = x.Find.Skip
	if x.Find.Limit > 0 {
		x.Find.Limit += x.Find.Skip
	}
	x.Find.Skip = 0
	return x, nil
}

// explainDistinct reads a distinct to be explained.
func explainDistinct(c *command.Call) (x *explained.Explained, err error) {
	ns, err := c.ReadNamespace()
	if err != nil {
		return nil, err
	}
	a, err := parseDistinct(c)
	if err != nil {
		return nil, err
	}
	return a.explained(ns), nil
}

// explainableWrite reads the one statement of an update or delete.
func explainableWrite(c *command.Call, stage string, parse func(bson.Raw) (statementArgs, error)) (x *explained.Explained, err error) {
	x = &explained.Explained{Stage: stage}
	if x.Ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	if err := setLet(c, c.Body.Get("let")); err != nil {
		return nil, err
	}
	docs, err := explainedDocs(c, c.Def.Statements)
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
	x.Find.Filter, _ = a.q.Doc()
	x.Find.Sort = a.sort
	x.Upsert = a.upsert
	if x.Find.Hint, err = c.HintArg(a.hint); err != nil {
		return nil, err
	}
	if stage == "UPDATE" && !a.multi || a.limit == 1 {
		x.Find.Limit = 1
	}
	if err := c.SetCollation(a.collation); err != nil {
		return nil, err
	}
	c.Cluster.UseDefaultCollation(&c.Op, x.Ns)
	x.Modify = &cluster.Modify{Find: x.Find, Multi: x.Find.Limit == 0, Upsert: a.upsert}
	if stage == "UPDATE" {
		if a.constants != nil {
			if err := setLet(c, a.constants.Value()); err != nil {
				return nil, err
			}
		}
		x.Modify.Update, err = update.Parse(c.Env(), a.u, a.filters, update.Options{Multi: a.multi})
	}
	return x, err
}

// explainedDocs is Docs for a command inside explain, which has no sequences.
func explainedDocs(c *command.Call, name string) ([]bson.Raw, error) {
	v, ok := c.Body.Lookup(name)
	if !ok {
		return nil, mongoerr.MissingField(c.Name() + "." + name)
	}
	return c.DocArray(name, v, 100000)
}
