package data

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// explainFind reads a find for explain.
func explainFind(c *command.Call, _ command.Request) (x *explained.Explained, err error) {
	x = &explained.Explained{}
	if x.Ns, err = c.ReadNamespace(); err != nil {
		return nil, err
	}
	a, err := parseFind(c, x.Ns)
	x.Find = a.Find
	return x, err
}

// explainPipeline returns the description of an aggregate for explain.
func explainPipeline(c *command.Call, r command.Request) (x *explained.Explained, err error) {
	if err := explainedConcern(c); err != nil {
		return nil, err
	}
	a := r.(*aggregateArgs)
	return &explained.Explained{Ns: a.ns, Pipeline: a.pipeline, Find: plan.Find{Hint: a.hint}}, nil
}

// explainedConcern refuses a write concern in an aggregate that is explained, because that aggregate writes nothing.
func explainedConcern(c *command.Call) error {
	if c.Body.Has("writeConcern") {
		return mongoerr.New(mongoerr.FailedToParse, "An aggregation that is explained writes nothing: it takes no 'writeConcern'")
	}
	return nil
}

// explainUpdate returns the description of an update for explain.
func explainUpdate(c *command.Call, r command.Request) (*explained.Explained, error) {
	return explainableWrite(c, "UPDATE", &r.(*updateRequest).statements)
}

// explainDelete returns the description of a delete for explain.
func explainDelete(c *command.Call, r command.Request) (*explained.Explained, error) {
	return explainableWrite(c, "DELETE", &r.(*deleteRequest).statements)
}

// explainMapReduce returns the description of a mapReduce for explain, which covers only its initial read.
func explainMapReduce(_ *command.Call, r command.Request) (x *explained.Explained, err error) {
	a := r.(*mapReduceArgs)
	return &explained.Explained{Ns: a.ns, Find: a.Find}, nil
}

// explainFindAndModify returns the description of a findAndModify for explain.
func explainFindAndModify(c *command.Call, r command.Request) (x *explained.Explained, err error) {
	a := r.(*famArgs)
	x = &explained.Explained{Ns: a.ns, Find: plan.Find{Filter: a.query, Sort: a.sort, Hint: a.hint, Limit: 1}, Stage: "UPDATE", Upsert: a.upsert}
	if a.remove {
		x.Stage = "DELETE"
	}
	x.Modify = &cluster.Modify{Find: x.Find, Upsert: a.upsert}
	c.Cluster.UseDefaultCollation(&c.Op, x.Ns)
	if !a.remove {
		x.Modify.Update, err = update.Parse(c.Env(), a.update, a.filters, update.Options{})
	}
	return x, err
}

// explainCount reads a count for explain.
func explainCount(c *command.Call, _ command.Request) (x *explained.Explained, err error) {
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

// explainDistinct reads a distinct for explain.
func explainDistinct(c *command.Call, _ command.Request) (x *explained.Explained, err error) {
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

// explainableWrite returns the description of an update or delete for explain. stage is the name of the plan's write
// stage. It refuses a command with more than one statement.
func explainableWrite(c *command.Call, stage string, s *statements) (x *explained.Explained, err error) {
	x = &explained.Explained{Stage: stage, Ns: s.ns}
	if len(s.list) != 1 {
		return nil, mongoerr.New(mongoerr.InvalidLength, "explained write batches must be of size 1")
	}
	a := &s.list[0]
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
