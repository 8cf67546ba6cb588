package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/project"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// famArgs holds the arguments of findAndModify.
type famArgs struct {
	ns                  collection.Namespace
	bypass              bool // documents that are written are not validated
	query, sort, fields bson.Raw
	update              bson.Value
	remove, upsert, new bool
	filters             []bson.Raw
	hasFilters          bool
	hint                bson.Value
}

// Needs notes find and, by the arguments of a findAndModify, remove, update, insert and bypassDocumentValidation.
func (a *famArgs) Needs(q *command.PrivilegeCheck) {
	if a.bypass {
		q.Need(auth.BypassDocumentValidation, a.ns)
	}
	q.Need(auth.Find, a.ns)
	if a.remove {
		q.Need(auth.Remove, a.ns)
		return
	}
	q.Need(auth.Update, a.ns)
	if a.upsert {
		q.Need(auth.Insert, a.ns)
	}
}

// Run answers findAndModify. Manual: reference/command/findAndModify.
func (a *famArgs) Run(c *command.Call) error {
	ns := a.ns
	if err := c.MayWriteTo(ns, "modify"); err != nil {
		return err
	}
	if err := c.Args.CheckStatements(1); err != nil {
		return err
	}
	if r, ok, err := c.StoredResult(0); err != nil {
		return err
	} else if ok {
		if err := a.repeats(r); err != nil {
			return err
		}
		c.Reply.Splice(r.Elements())
		c.Reply.Int32("retriedStmtId", c.Args.Statement(0))
		return nil
	}
	env := c.Env()
	filter, err := c.Cluster.ParseFilter(&c.Op, ns, a.query)
	if err != nil {
		return err
	}
	fields, metas, err := famFields(env, a, filter)
	if err != nil {
		return err
	}
	m := cluster.Modify{Find: plan.Find{Filter: a.query, Sort: a.sort, Hint: a.hint, Metas: metas}, Upsert: a.upsert, Return: cluster.OldImage}
	if a.new {
		m.Return = cluster.NewImage
	}
	if a.remove {
		c.Server.Stats.Delete.Add(1)
	} else {
		c.Server.Stats.Update.Add(1)
		c.Def.Counter.CountUpdate(a.update, a.filters)
		if m.Update, err = update.Parse(env, a.update, a.filters, update.Options{}); err != nil {
			return err
		}
	}
	result := func(r *cluster.Modified) (bson.Raw, error) { return famReply(c, a, r, fields) }
	var failed error
	if c.Retryable() {
		keep := c.Recorder(nil, func(r *cluster.Modified) bson.Raw {
			reply, err := result(r)
			failed = err
			return reply
		})
		c.Op.Record = func(txn storage.Txn, first, last int, r *cluster.Modified) error {
			if err := keep(txn, first, last, r); err != nil {
				return err
			}
			return failed
		}
	}
	r, err := c.Cluster.Modify(&c.Op, ns, &m)
	if err != nil {
		return err
	}
	reply, err := result(&r)
	if err != nil {
		return err
	}
	c.Reply.Splice(reply.Elements())
	return nil
}

// famFields parses the projection of a findAndModify; it returns nil without one. metas is a bit set of the kinds of
// metadata, such as the sort key, that the projection reads.
// Errors: BadValue (2) for the sort key, and for a positional projection of the new document, to which the filter was
// not applied; errors of project.ParseFind.
func famFields(env *mql.Env, a *famArgs, filter match.Node) (fields project.Transform, metas uint32, err error) {
	if a.fields.IsEmpty() {
		return nil, 0, nil
	}
	if fields, err = project.ParseFind(env, a.fields, filter); err != nil {
		return nil, 0, err
	}
	metas = project.Metas(fields)
	switch {
	case metas&(1<<expr.MetaSortKey) != 0:
		return nil, 0, mongoerr.New(mongoerr.BadValue, "The fields of findAndModify cannot be projected from {$meta: \"sortKey\"}")
	case a.new && project.IsPositional(fields):
		return nil, 0, mongoerr.New(mongoerr.BadValue, "A positional projection cannot be used with new: true, which returns another document than the one that was matched")
	}
	return fields, metas, nil
}

// repeats checks that a retried findAndModify is of the same kind as the recorded result of its first run, was.
// Errors: 40606 for another command, 40607 if the retry removes and the first run updated, 40608 for the reverse.
func (a *famArgs) repeats(was bson.Raw) error {
	last, ok := was.Get("lastErrorObject").Doc()
	updated := !last.Get("updatedExisting").IsMissing()
	switch {
	case !ok:
		return mongoerr.New(40606, "findAndModify retry request is not compatible with previous write in the transaction, which was another command")
	case a.remove && updated:
		return mongoerr.New(40607, "findAndModify retry request wants to remove, but previous write in the transaction was an update")
	case !a.remove && !updated:
		return mongoerr.New(40608, "findAndModify retry request wants to update, but previous write in the transaction was a remove")
	}
	return nil
}

// famReply returns the reply's own fields: lastErrorObject and value.
func famReply(c *command.Call, a *famArgs, r *cluster.Modified, fields project.Transform) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	b.BeginDoc("lastErrorObject")
	n := r.Matched
	if !r.Upserted.IsMissing() {
		n = 1
	}
	b.Int("n", n)
	if !a.remove {
		b.Bool("updatedExisting", r.Matched > 0)
		b.Value("upserted", r.Upserted)
	}
	b.End()
	if r.Doc == nil {
		b.Null("value")
		return b.Doc(), nil
	}
	doc := r.Doc
	if fields != nil {
		var s expr.Scratch
		defer s.Close()
		if r.Found != nil {
			r.Found.SetMeta(&s, project.Metas(fields))
		}
		p := bson.NewBuilder(nil)
		if err := fields.Apply(c.Env(), p, doc, &s); err != nil {
			return nil, err
		}
		doc = p.Doc()
	}
	b.Raw("value", doc)
	return b.Doc(), nil
}

// parseFindAndModify reads the arguments of findAndModify.
func parseFindAndModify(c *command.Call) (command.Request, error) {
	a := &famArgs{}
	var err error
	if a.ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	err = c.ReadArgs(
		arguments.Doc("query", &a.query),
		arguments.Doc("sort", &a.sort).Check(func() error {
			if a.sort.Len() > 1 {
				return c.Env().Cosmos.CheckRule(cosmos.FindAndModifySorts)
			}
			return nil
		}),
		arguments.Doc("fields", &a.fields),
		arguments.Doc("projection", &a.fields),
		arguments.Value("update", &a.update).Check(func() error {
			if a.update.Type != bson.TypeDocument && a.update.Type != bson.TypeArray {
				return mongoerr.New(mongoerr.FailedToParse, "Update argument must be either an object or an array")
			}
			return nil
		}),
		arguments.Bool("remove", &a.remove),
		arguments.Bool("new", &a.new),
		arguments.Bool("upsert", &a.upsert),
		arguments.Docs("arrayFilters", &a.filters, command.BatchMax).Given(&a.hasFilters),
		arguments.Hint("hint", &a.hint),
		arguments.By("collation", func(v bson.Value) error { return c.SetCollation(v) }),
		arguments.By("let", func(v bson.Value) error { return setLet(c, v) }),
		arguments.Bool("bypassDocumentValidation", &a.bypass),
		arguments.Ignored("bypassEmptyTsReplacement", "sampleId"),
	)
	c.Op.BypassValidation = a.bypass
	if err != nil {
		return nil, err
	}
	bad := func(text string) error { return mongoerr.New(mongoerr.FailedToParse, "%s", text) }
	switch {
	case a.remove && !a.update.IsMissing():
		err = bad("Cannot specify both an update and remove=true")
	case a.remove && a.upsert:
		err = bad("Cannot specify both upsert=true and remove=true")
	case a.remove && a.new:
		err = bad("Cannot specify both new=true and remove=true; 'remove' always returns the deleted document")
	case a.remove && a.hasFilters:
		err = bad("Cannot specify arrayFilters and remove=true")
	case !a.remove && a.update.IsMissing():
		err = bad("Either an update or remove=true must be specified")
	}
	return a, err
}
