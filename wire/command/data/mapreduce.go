package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// mapReduceArgs holds the arguments of mapReduce.
type mapReduceArgs struct {
	plan.Find
	ns                       collection.Namespace
	bypass                   bool         // documents that are written are not validated
	mapper, reduce, finalize *expr.Script // finalize may be nil
	scope                    bson.Raw
	out                      *mapReduceOut
}

// Needs notes the privileges of a mapReduce to write into the collection that out names; find is in the row.
func (a *mapReduceArgs) Needs(q *command.PrivilegeCheck) {
	if a.out.inline {
		return
	}
	q.Need(auth.Insert, a.out.ns)
	if a.out.mode == "replace" {
		q.Need(auth.Remove, a.out.ns)
	} else {
		q.Need(auth.Update, a.out.ns)
	}
	if a.bypass {
		q.Need(auth.BypassDocumentValidation, a.out.ns)
	}
}

// Run answers mapReduce. Manual: reference/command/mapReduce.
func (a *mapReduceArgs) Run(c *command.Call) error {
	ns := a.ns
	if err := a.out.check(); err != nil {
		return err
	}
	if coll := c.Cluster.Catalog().Collection(ns); coll != nil && (coll.IsView() || coll.Options.TimeSeries != nil) {
		return mongoerr.ViewNotAllowed(ns.String())
	}
	c.Server.Stats.Command.Add(1)
	e := &emitted{env: c.Env(), args: a}
	defer e.close()
	if err := mapAll(c, ns, e); err != nil {
		return err
	}
	if a.out.inline {
		b := bson.NewArrayBuilder(nil)
		err := e.each(func(d bson.Raw) error {
			b.Value("", d.Value())
			if b.Len() > bson.MaxDocumentBytes {
				return mongoerr.DocumentTooLarge(b.Len(), bson.MaxDocumentBytes)
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.Reply.Array("results", b.Doc())
		return nil
	}
	if err := writeResults(c, a, e); err != nil {
		return err
	}
	if a.out.ns.DB == c.DB {
		c.Reply.String("result", a.out.ns.Coll)
	} else {
		c.Reply.BeginDoc("result")
		c.Reply.String("db", a.out.ns.DB)
		c.Reply.String("collection", a.out.ns.Coll)
		c.Reply.End()
	}
	return nil
}

// mapAll runs the map function on every selected document.
func mapAll(c *command.Call, ns collection.Namespace, e *emitted) error {
	if err := e.start(); err != nil {
		return err
	}
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(e.args.Find.Stages()), bson.Value{})
	if err != nil {
		return err
	}
	defer s.Close()
	defer s.Settle()
	for {
		row, err := s.Next(c.Env())
		if row == nil || err != nil {
			return err
		}
		if err := c.Env().Tick(); err != nil {
			return err
		}
		if err := e.add(row.Doc); err != nil {
			return err
		}
	}
}

// writeResults writes the results to the target collection.
func writeResults(c *command.Call, a *mapReduceArgs, e *emitted) error {
	sink, err := c.Cluster.Sink(&c.Op, a.out.sink(e))
	if err != nil {
		return err
	}
	defer sink.Close()
	var docs []bson.Raw
	size := 0
	flush := func() error {
		err := sink.Write(c.Env(), docs)
		docs, size = docs[:0], 0
		return err
	}
	err = e.each(func(d bson.Raw) error {
		docs = append(docs, d)
		if size += len(d); size < mapReduceBatchBytes && len(docs) < mapReduceBatch {
			return nil
		}
		return flush()
	})
	if err == nil && len(docs) > 0 {
		err = flush()
	}
	if err != nil {
		return err
	}
	return sink.Finish(c.Env())
}

// The maximum size of one write.
const (
	mapReduceBatch      = 1000
	mapReduceBatchBytes = 4 << 20
)

// parseMapReduce reads the arguments.
func parseMapReduce(c *command.Call) (command.Request, error) {
	a := &mapReduceArgs{}
	var err error
	if a.ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	if !c.Server.JavaScript {
		return nil, mongoerr.New(16149, "cannot run map reduce without the js engine")
	}
	script := func(name string, to **expr.Script) arguments.Arg {
		return arguments.By(name, func(v bson.Value) (err error) {
			*to, err = mapReduceScript(c, name, v)
			return err
		})
	}
	err = c.ReadArgs(
		script("map", &a.mapper).Required(),
		script("reduce", &a.reduce).Required(),
		script("finalize", &a.finalize),
		arguments.By("out", func(v bson.Value) (err error) { a.out, err = parseMapReduceOut(c.DB, v); return err }).Required(),
		arguments.Doc("query", &a.Filter),
		arguments.Doc("sort", &a.Sort),
		arguments.Long("limit", &a.Limit).Least(0),
		arguments.Doc("scope", &a.scope),
		arguments.By("collation", c.SetCollation),
		arguments.Bool("bypassDocumentValidation", &a.bypass),
		arguments.Bool("jsMode", nil),
		arguments.Bool("verbose", nil),
	)
	c.Op.BypassValidation = a.bypass
	if err != nil {
		return nil, err
	}
	return a, nil
}

// mapReduceScript compiles a JavaScript argument of mapReduce, such as map; it returns nil for a missing argument.
// name is the argument's name.
// Errors: BadValue (2), JSInterpreterFailure (139).
func mapReduceScript(c *command.Call, name string, v bson.Value) (*expr.Script, error) {
	switch v.Type {
	case bson.TypeMissing:
		return nil, nil
	case bson.TypeString, bson.TypeCode:
	default:
		return nil, mongoerr.New(mongoerr.BadValue, "'%s' must be of string or code type", name)
	}
	source, err := expr.ScriptSource(v)
	if err != nil {
		return nil, err
	}
	return expr.CompileScript(c.Env(), source)
}
