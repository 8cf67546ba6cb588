package data

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// explainFind reads a find to be explained.
func explainFind(c *command.Call, _ command.Request) (x *explained.Explained, err error) {
	x = &explained.Explained{}
	if x.Ns, err = c.ReadNamespace(); err != nil {
		return nil, err
	}
	a, err := parseFind(c)
	x.Find = a.Find
	return x, err
}

// explainPipeline makes what is explained of an aggregate.
func explainPipeline(c *command.Call, r command.Request) (x *explained.Explained, err error) {
	if err := explainedConcern(c); err != nil {
		return nil, err
	}
	a := r.(*aggregateArgs)
	return &explained.Explained{Ns: a.ns, Pipeline: a.pipeline, Find: plan.Find{Hint: a.hint}}, nil
}

// explainedConcern refuses a write concern of a pipeline that is explained, which writes nothing.
func explainedConcern(c *command.Call) error {
	if c.Body.Has("writeConcern") {
		return mongoerr.New(mongoerr.FailedToParse, "An aggregation that is explained writes nothing: it takes no 'writeConcern'")
	}
	return nil
}

// explainUpdate makes what is explained of an update.
func explainUpdate(c *command.Call, r command.Request) (*explained.Explained, error) {
	return explainableWrite(c, "UPDATE", &r.(*updateRequest).statements)
}

// explainDelete makes what is explained of a delete.
func explainDelete(c *command.Call, r command.Request) (*explained.Explained, error) {
	return explainableWrite(c, "DELETE", &r.(*deleteRequest).statements)
}

// explainMapReduce makes what is explained of a mapReduce: the read that it begins with.
func explainMapReduce(_ *command.Call, r command.Request) (x *explained.Explained, err error) {
	a := r.(*mapReduceArgs)
	return &explained.Explained{Ns: a.ns, Find: a.Find}, nil
}

// explainFindAndModify makes what is explained of a findAndModify.
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

// explainCount reads a count to be explained.
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

// explainDistinct reads a distinct to be explained.
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

// explainableWrite makes what is explained of the one statement of an update or delete.
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
