package data

import (
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// statementArgs holds the arguments of one update or delete statement.
type statementArgs struct {
	q, u         bson.Value
	filters      []bson.Raw
	multi        bool
	upsert       bool
	hint         bson.Value
	sort         bson.Raw
	collation    bson.Value
	constants    bson.Raw
	limit        int64
	hasLimit     bool
	upsertSupply bool
}

// statements holds the body of an update or delete command.
type statements struct {
	ns collection.Namespace
	writeArgs
	list []statementArgs
}

// parseStatements reads the arguments of an update or delete command. list is the name of the argument with its
// statements, read reads one of them.
func parseStatements(c *command.Call, list string, read func(bson.Raw) (statementArgs, error)) (s statements, err error) {
	if s.ns, err = c.Namespace(); err != nil {
		return s, err
	}
	if err := c.MayWriteTo(s.ns, c.Name()); err != nil {
		return s, err
	}
	s.ordered = true
	err = c.ReadArgs(
		arguments.Ignored(list), // read below: it may be a document sequence
		arguments.By("let", func(v bson.Value) error { return setLet(c, v) }),
		arguments.StrictBool("ordered", &s.ordered),
		arguments.Bool("bypassDocumentValidation", &s.bypass),
		arguments.Bool("bypassEmptyTsReplacement", nil),
		c.ExpectUUID(s.ns),
	)
	if err != nil {
		return s, err
	}
	s.finish(c)
	docs, err := c.Docs(list, c.BatchMax())
	if err != nil {
		return s, err
	}
	if len(docs) == 0 {
		return s, arguments.TooMany(c.BatchMax(), 0)
	}
	if err := c.Args.CheckStatements(len(docs)); err != nil {
		return s, err
	}
	s.list = make([]statementArgs, len(docs))
	for i, d := range docs {
		if s.list[i], err = read(d); err != nil {
			return s, err
		}
	}
	return s, nil
}

// runStatements runs the statements of an update or delete in their order. If they are ordered, it stops after the
// first error. It calls done with the result of each statement that succeeds, and returns the errors of the others.
func runStatements(c *command.Call, s *statements, parse programParser, done func(i int, r cluster.Modified)) (errs []mongoerr.WriteError, err error) {
	for i := range s.list {
		refusals := len(c.Op.Refusals)
		r, err := runStatement(c, s.ns, i, &s.list[i], parse)
		if err == nil {
			done(i, r)
			continue
		}
		untried := 0
		if s.ordered {
			untried = len(s.list) - i - 1
		}
		c.Op.NoteStatement(refusals, i, untried)
		if errs, err = statementError(c, errs, i, err); err != nil {
			return nil, err
		}
		if s.ordered {
			break
		}
	}
	return errs, nil
}

// checkStages refuses the whole update command if a pipeline in it has a stage that does not exist. If a stage exists
// but updates may not use it, only its statement fails, later.
// Spec: command-logging (operation-id). Errors: 40323, 40324.
func (s *statements) checkStages() error {
	for i := range s.list {
		list, ok := s.list[i].u.Array()
		if !ok {
			continue
		}
		var stages []bson.Raw
		for v := range list.Values() {
			d, ok := v.Doc()
			if !ok {
				break // an error of the statement
			}
			stages = append(stages, d)
		}
		if err := agg.NewOutline(stages).Err; err != nil {
			return err
		}
	}
	return nil
}

// programParser returns the update program of an update statement. In place of it, nil stands for a delete.
type programParser func(*mql.Env, *statementArgs) (*update.Program, error)

// updateRequest is an update with parsed arguments.
type updateRequest struct{ statements }

// parseUpdate reads the arguments of update.
func parseUpdate(c *command.Call) (command.Request, error) {
	s, err := parseStatements(c, "updates", func(d bson.Raw) (statementArgs, error) { return updateStatement(c, d) })
	if err != nil {
		return nil, err
	}
	return &updateRequest{s}, s.checkStages()
}

// Needs notes the privileges of an update beyond the action update, which its row has: an upsert also inserts, and
// validation may be skipped.
func (s *updateRequest) Needs(q *command.PrivilegeCheck) {
	s.needs(q, s.ns)
	if slices.ContainsFunc(s.list, func(a statementArgs) bool { return a.upsert }) {
		q.Need(auth.Insert, s.ns)
	}
}

// Run answers update. Manual: reference/command/update.
func (s *updateRequest) Run(c *command.Call) error {
	c.Server.Stats.Update.Add(int64(len(s.list)))
	var matched, modified int64
	var upserted []upsert
	parse := func(env *mql.Env, a *statementArgs) (*update.Program, error) {
		return update.Parse(env, a.u, a.filters, update.Options{Multi: a.multi})
	}
	errs, err := runStatements(c, &s.statements, parse, func(i int, r cluster.Modified) {
		matched += r.Matched
		modified += r.Changed
		if !r.Upserted.IsMissing() {
			upserted = append(upserted, upsert{i, r.Upserted})
			matched++
		}
	})
	if err != nil {
		return err
	}
	c.Reply.Int("n", matched)
	c.Reply.Int("nModified", modified)
	if len(upserted) > 0 {
		c.Reply.BeginArray("upserted")
		for _, u := range upserted {
			c.Reply.BeginDoc("")
			c.Reply.Int32("index", int32(u.index))
			c.Reply.Value("_id", u.id)
			c.Reply.End()
		}
		c.Reply.End()
	}
	writeErrors(c, errs)
	c.AppendRetried()
	return nil
}

// upsert is a document that an update has inserted.
type upsert struct {
	index int        // the index of the statement
	id    bson.Value // the _id of the document
}

// updateStatement reads one member of updates.
func updateStatement(c *command.Call, d bson.Raw) (a statementArgs, err error) {
	hasQ, hasU := false, false
	err = arguments.EachField(d, "update.updates", func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "q":
			hasQ, a.q = true, v
			if v.Type != bson.TypeDocument {
				err = mongoerr.WrongType("update.updates.q", v.Type.String(), "object")
			}
		case "u":
			hasU, a.u = true, v
			if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
				err = mongoerr.New(mongoerr.FailedToParse, "Update argument must be either an object or an array")
			}
		case "multi":
			a.multi, err = c.BoolArg("updates.multi", v)
		case "upsert":
			a.upsert, err = c.BoolArg("updates.upsert", v)
		case "upsertSupplied":
			a.upsertSupply, err = c.BoolArg("updates.upsertSupplied", v)
		case "arrayFilters":
			if !v.IsMissing() {
				a.filters, err = c.DocArray("updates.arrayFilters", v, command.BatchMax)
			}
		case "hint":
			a.hint, err = c.HintArg(v)
		case "collation":
			a.collation = v
		case "sort":
			a.sort, err = c.DocArg("updates.sort", v)
		case "c":
			a.constants, err = c.DocArg("updates.c", v)
		case "sampleId", "allowShardKeyUpdatesWithoutFullShardKeyInQuery":
		default:
			known = false
		}
		return known, err
	})
	switch {
	case err != nil:
		return a, err
	case !hasQ:
		return a, mongoerr.MissingField("update.updates.q")
	case !hasU:
		return a, mongoerr.MissingField("update.updates.u")
	case a.multi && len(a.sort) > 0:
		return a, mongoerr.New(mongoerr.FailedToParse, "Cannot specify sort with multi=true")
	}
	return a, nil
}

// runStatement runs the i-th statement of an update, delete or bulkWrite, which is an update or a delete. If a
// retryable write has run it before, it returns the recorded result instead. parse returns the update program; a nil
// parse means a delete.
func runStatement(c *command.Call, ns collection.Namespace, i int, a *statementArgs, parse programParser) (cluster.Modified, error) {
	if r, ok, err := c.StoredResult(i); err != nil {
		return cluster.Modified{}, err
	} else if ok {
		return rememberedModify(r), nil
	}
	if c.Retryable() && a.multi {
		return cluster.Modified{}, mongoerr.New(mongoerr.InvalidOptions, "Cannot use retryable writes with multi=true; run the statement without a transaction number")
	}
	env := c.Env()
	saved, simple := env.Collation, env.SimpleCollation
	defer func() { env.Collation, env.SimpleCollation = saved, simple }()
	if err := c.SetCollation(a.collation); err != nil {
		return cluster.Modified{}, err
	}
	c.Cluster.UseDefaultCollation(&c.Op, ns)
	q, _ := a.q.Doc()
	m := cluster.Modify{Find: plan.Find{Filter: q, Hint: a.hint, Sort: a.sort}, Multi: a.multi, Upsert: a.upsert}
	if parse != nil {
		if a.constants != nil {
			if a.u.Type != bson.TypeArray {
				return cluster.Modified{}, mongoerr.New(51198, "Constant values may only be specified for pipeline updates")
			}
			if err := setLet(c, a.constants.Value()); err != nil {
				return cluster.Modified{}, err
			}
		}
		c.Def.Counter.CountUpdate(a.u, a.filters)
		p, err := parse(env, a)
		if err != nil {
			return cluster.Modified{}, err
		}
		m.Update = p
		if a.upsertSupply {
			if m.Supplied, err = supplied(a); err != nil {
				return cluster.Modified{}, err
			}
		}
		if a.multi && p.IsReplacement() {
			return cluster.Modified{}, mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
		}
	}
	if c.Cluster.Catalog().Collection(ns) == nil { // a wrong filter is an error even if the collection does not exist
		if _, err := match.Parse(env, q); err != nil {
			return cluster.Modified{}, err
		}
	}
	if r, done, err := c.Server.Sharding.UpdateVirtual(c, ns, &m); done {
		return r, err
	}
	c.Op.Record = c.Recorder([]int{i}, modifyResult)
	return c.Cluster.Modify(&c.Op, ns, &m)
}

// supplied returns the document of a statement with upsertSupplied, which an upsert inserts: the constant new.
//
// Errors: FailedToParse.
func supplied(a *statementArgs) (bson.Raw, error) {
	doc, ok := a.constants.Get("new").Doc()
	if !a.upsert || !ok {
		return nil, mongoerr.New(mongoerr.FailedToParse, "upsertSupplied requires upsert: true and the document to insert, in c.new or constants.new")
	}
	return doc, nil
}

// modifyResult returns the result of an update or delete statement as a document for the retryable write record.
func modifyResult(m *cluster.Modified) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int64("n", m.Matched)
	b.Int64("changed", m.Changed)
	b.Value("upserted", m.Upserted)
	return b.Doc()
}

// rememberedModify reads the result of modifyResult.
func rememberedModify(r bson.Raw) (m cluster.Modified) {
	m.Matched, _ = r.Get("n").Int64()
	m.Changed, _ = r.Get("changed").Int64()
	m.Upserted = r.Get("upserted")
	return m
}

// statementError appends the error of the i-th statement to the write errors of a command. If the error ends the
// whole command, such as a time limit, it returns that error instead.
func statementError(c *command.Call, errs []mongoerr.WriteError, i int, err error) ([]mongoerr.WriteError, error) {
	e := mongoerr.From(cluster.Translate(err))
	switch {
	case abortsTxn(c, e):
		return errs, err
	case e.Code == ratelimit.CodeThrottled && (c.RetriesStatements() || i > 0 || len(errs) > 0):
		// Some statements may have taken effect, so the command must not be retried as a whole. Azure Cosmos DB never
		// requests a retry of the whole command.
		if t := (*ratelimit.Throttled)(nil); errors.As(e, &t) {
			e = mongoerr.New(e.Code, "%s", t.WriteMessage()).Because(t)
		}
	case e.Code == ratelimit.CodeThrottled, e.Code == mongoerr.MaxTimeMSExpired, e.Code == mongoerr.RequestUnitsExceeded, e.Code == mongoerr.Interrupted,
		e.Code == mongoerr.NetworkTimeout, e.Code == mongoerr.InternalError, e.Code == mongoerr.ShutdownInProgress, e.Code == mongoerr.IncompleteTransactionHistory:
		return errs, err
	}
	return append(errs, mongoerr.WriteError{Index: int32(i), Err: e}), nil
}

// abortsTxn reports whether the error of a statement in a multi-document transaction is the error of the whole command:
// a write conflict, an unavailable snapshot, or a transaction that does not exist any more. Other errors are write
// errors of their statement; they abort the transaction too.
func abortsTxn(c *command.Call, e *mongoerr.Error) bool {
	if c.Op.Txn == nil {
		return false
	}
	switch e.Code {
	case mongoerr.WriteConflict, mongoerr.SnapshotUnavailable, mongoerr.NoSuchTransaction:
		return true
	}
	return false
}

// setLet declares the variables of the argument let for the command's expressions. Each value must be constant.
// Manual: reference/command/find#std-label-find-let-example.
func setLet(c *command.Call, v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	d, ok := v.Doc()
	if !ok {
		return mongoerr.WrongType(c.Field("let"), v.Type.String(), "object")
	}
	return expr.DeclareLet(c.Env(), d)
}
