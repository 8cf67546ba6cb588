package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// bulkKind is the kind of an operation of bulkWrite.
type bulkKind uint8

// The kinds.
const (
	bulkInsert bulkKind = iota
	bulkUpdate
	bulkDelete
)

// bulkOp is one operation of bulkWrite.
type bulkOp struct {
	kind bulkKind
	ns   int
	doc  bson.Raw // of an insert
	statementArgs
}

// bulkArgs holds the arguments of bulkWrite.
type bulkArgs struct {
	writeArgs
	ops        []bulkOp
	targets    []catalog.Expected // the namespaces
	errorsOnly bool
	batch      int64
}

// bulkRun holds the state of a running bulkWrite: its arguments, and the counts and results of the operations so far.
type bulkRun struct {
	*command.Call
	*bulkArgs
	results                                                []bson.Raw
	errors, inserted, matched, modified, upserted, deleted int64
}

// Needs notes the privileges of each operation on its namespace.
func (a *bulkArgs) Needs(q *command.PrivilegeCheck) {
	for i := range a.ops {
		op := &a.ops[i]
		ns := a.targets[op.ns].Namespace
		switch op.kind {
		case bulkInsert:
			q.Need(auth.Insert, ns)
			a.needs(q, ns)
		case bulkUpdate:
			q.Need(auth.Update, ns)
			if op.upsert {
				q.Need(auth.Insert, ns)
			}
			a.needs(q, ns)
		case bulkDelete:
			q.Need(auth.Remove, ns)
		}
	}
}

// Run runs the operations of a bulkWrite, inserts, updates and deletes on several collections, in the given order.
// Manual: reference/command/bulkWrite.
func (a *bulkArgs) Run(c *command.Call) error {
	if err := a.checkTargets(c); err != nil {
		return err
	}
	r := &bulkRun{Call: c, bulkArgs: a}
	var err error
	for i := 0; i < len(r.ops); {
		n := 1
		if r.ops[i].kind == bulkInsert {
			n = r.insertsFrom(i)
			err = r.insert(i, n)
		} else {
			err = r.modify(i)
		}
		if err != nil {
			return err
		}
		if r.ordered && r.errors > 0 {
			break
		}
		i += n
	}
	if c.WriteConcern.Unacknowledged() {
		r.results = nil // the reply, if the client reads one, has an empty cursor that is not open
	}
	if err := c.ReplyList(command.ManyNamespaces, r.results, a.batch); err != nil {
		return err
	}
	b := c.Reply
	b.Int32("nErrors", int32(r.errors))
	b.Int32("nInserted", int32(r.inserted))
	b.Int32("nMatched", int32(r.matched))
	b.Int32("nModified", int32(r.modified))
	b.Int32("nUpserted", int32(r.upserted))
	b.Int32("nDeleted", int32(r.deleted))
	r.AppendRetried()
	return nil
}

// checkTargets refuses namespaces that the operations on them may not write.
func (a *bulkArgs) checkTargets(c *command.Call) error {
	modified := make([]bool, len(a.targets))
	for i := range a.ops {
		modified[a.ops[i].ns] = modified[a.ops[i].ns] || a.ops[i].kind != bulkInsert
	}
	for i := range a.targets {
		may := c.MayInsertInto
		if modified[i] {
			may = func(ns collection.Namespace) error { return c.MayWriteTo(ns, "write") }
		}
		if err := may(a.targets[i].Namespace); err != nil {
			return err
		}
	}
	return nil
}

// insertsFrom returns the number of consecutive inserts into one namespace from operation i on, which insert then
// runs together.
func (r *bulkRun) insertsFrom(i int) int {
	n := 1
	for i+n < len(r.ops) && r.ops[i+n].kind == bulkInsert && r.ops[i+n].ns == r.ops[i].ns {
		n++
	}
	return n
}

// insert runs n inserts into one namespace together.
func (r *bulkRun) insert(i, n int) error {
	target := r.targets[r.ops[i].ns]
	r.Call.Server.Stats.Insert.Add(int64(n))
	var docs []bson.Raw
	var todo []int // indexes of docs among the operations
	for at := i; at < i+n; at++ {
		_, done, err := r.StoredResult(at)
		if err != nil {
			return err
		}
		if !done {
			docs, todo = append(docs, r.ops[at].doc), append(todo, at)
		}
	}
	var errs []mongoerr.WriteError
	if len(docs) > 0 {
		r.Env().DB = target.DB
		r.Op.Expected = target
		r.Op.Record = r.Recorder(todo, func(*cluster.Modified) bson.Raw { return oneInserted })
		var err error
		var inserted int
		if series := r.Cluster.Catalog().Series(target.Namespace); series != nil {
			if _, errs, err = insertBuckets(r.Call, series, docs, r.ordered); err != nil {
				return err
			}
			command.Renumber(errs, todo)
		} else if inserted, errs, err = r.Cluster.Insert(&r.Op, target.Namespace, docs, r.ordered); err == nil {
			if i == 0 && len(todo) == n {
				if err := r.Op.WhollyRefused(inserted, n, errs, r.ordered); err != nil {
					r.CountRefused(errs)
					return err
				}
			}
			command.Renumber(errs, todo)
		} else if errs, err = statementError(r.Call, nil, todo[0], err); err != nil {
			return err
		}
		if len(errs) > 0 && abortsTxn(r.Call, errs[0].Err) {
			return errs[0].Err
		}
	}
	for at := i; at < i+n; at++ {
		if len(errs) > 0 && errs[0].Index == int32(at) {
			r.fail(errs[0])
			if errs = errs[1:]; r.ordered {
				return nil
			}
			continue
		}
		r.inserted++
		r.succeed(at, 1, nil)
	}
	return nil
}

// modify runs one update or delete.
func (r *bulkRun) modify(i int) error {
	op := &r.ops[i]
	target := r.targets[op.ns]
	var parse func(*mql.Env, *statementArgs) (*update.Program, error)
	if op.kind == bulkUpdate {
		r.Call.Server.Stats.Update.Add(1)
		parse = func(env *mql.Env, a *statementArgs) (*update.Program, error) {
			return update.Parse(env, a.u, a.filters, update.Options{Multi: a.multi})
		}
	} else {
		r.Call.Server.Stats.Delete.Add(1)
	}
	r.Env().DB = target.DB
	r.Op.Expected = target
	m, err := runStatement(r.Call, target.Namespace, i, &op.statementArgs, parse)
	if err != nil {
		errs, err := statementError(r.Call, nil, i, err)
		if err != nil {
			return err
		}
		r.fail(errs[0])
		return nil
	}
	if op.kind == bulkDelete {
		r.deleted += m.Changed
		r.succeed(i, m.Changed, nil)
		return nil
	}
	r.matched += m.Matched
	r.modified += m.Changed
	n := m.Matched
	if !m.Upserted.IsMissing() {
		r.upserted++
		n = 1
	}
	r.succeed(i, n, &m)
	return nil
}

// succeed appends the result of operation i to the results of the bulkWrite, with n affected documents, unless
// errorsOnly is set; m is nil except for an update.
func (r *bulkRun) succeed(i int, n int64, m *cluster.Modified) {
	if r.errorsOnly {
		return
	}
	b := bson.NewBuilder(nil)
	b.Double("ok", 1)
	b.Int32("idx", int32(i))
	b.Int32("n", int32(n))
	if m != nil {
		b.Int32("nModified", int32(m.Changed))
		if !m.Upserted.IsMissing() {
			b.BeginDoc("upserted")
			b.Value("_id", m.Upserted)
			b.End()
		}
	}
	r.results = append(r.results, b.Doc())
}

// fail records the error of an operation.
func (r *bulkRun) fail(e mongoerr.WriteError) {
	r.errors++
	r.StatementFailed(e.Index, e.Err)
	e.Err = r.ThrottledStatement(e.Err)
	b := bson.NewBuilder(nil)
	b.Double("ok", 0)
	b.Int32("idx", e.Index)
	b.Int32("code", int32(e.Err.Code))
	b.String("errmsg", e.Err.Msg)
	b.Splice(e.Err.Fields)
	b.Int32("n", 0)
	if r.ops[e.Index].kind == bulkUpdate {
		b.Int32("nModified", 0)
	}
	r.results = append(r.results, b.Doc())
}

// parseBulk reads the arguments of bulkWrite.
// Errors: TypeMismatch (14), BadValue (2), InvalidLength (16), InvalidNamespace (73), InvalidOptions (72),
// FailedToParse (9), IDLFailedToParse (40414), IDLUnknownField (40415).
func parseBulk(c *command.Call) (command.Request, error) {
	a := &bulkArgs{writeArgs: writeArgs{ordered: true}, batch: -1}
	err := c.ReadArgs(
		arguments.Ignored("ops", "nsInfo"), // read below: they may be document sequences
		arguments.StrictBool("errorsOnly", &a.errorsOnly),
		arguments.By("let", func(v bson.Value) error { return setLet(c, v) }),
		arguments.CursorSize("cursor", &a.batch),
		arguments.StrictBool("ordered", &a.ordered),
		arguments.Bool("bypassDocumentValidation", &a.bypass),
		arguments.Bool("bypassEmptyTsReplacement", nil),
	)
	if err != nil {
		return a, err
	}
	a.finish(c)
	ops, err := c.Docs("ops", c.BatchMax())
	if err != nil {
		return a, err
	}
	infos, err := c.Docs("nsInfo", c.BatchMax())
	if err != nil {
		return a, err
	}
	if len(ops) == 0 {
		return a, arguments.TooMany(c.BatchMax(), 0)
	}
	if err := c.Args.CheckStatements(len(ops)); err != nil {
		return a, err
	}
	for _, d := range infos {
		t, err := parseTarget(c, d)
		if err != nil {
			return a, err
		}
		a.targets = append(a.targets, t)
	}
	for _, d := range ops {
		op, err := parseBulkOp(c, d)
		if err != nil {
			return a, err
		}
		if op.ns < 0 || op.ns >= len(a.targets) {
			return a, mongoerr.New(mongoerr.BadValue, "BulkWrite ops entry %d has an invalid nsInfo index.", op.ns)
		}
		if c.Retryable() && op.multi {
			return a, mongoerr.New(mongoerr.InvalidOptions, "Cannot use retryable writes with multi=true")
		}
		a.ops = append(a.ops, op)
	}
	return a, nil
}

// parseTarget reads one member of nsInfo.
func parseTarget(c *command.Call, d bson.Raw) (t catalog.Expected, err error) {
	const field = "bulkWrite.nsInfo"
	has := false
	t.Viewer = c
	err = arguments.EachField(d, field, func(name string, v bson.Value) (bool, error) {
		switch name {
		case "ns":
			if v.IsMissing() {
				return true, nil
			}
			if v.Type != bson.TypeString {
				return true, mongoerr.WrongType(field+".ns", v.Type.String(), "string")
			}
			s, _ := v.Str()
			has = true
			ns := collection.ParseNamespace(s)
			t.Namespace = c.Buckets(ns)
			return true, collection.CheckNamespace(ns)
		case "collectionUUID":
			t.UUID = v
			return true, c.CheckUUIDArg("nsInfo."+name, v)
		case "encryptionInformation", "isTimeseriesNamespace":
			return true, nil
		}
		return false, nil
	})
	if err == nil && !has {
		err = mongoerr.MissingField(field + ".ns")
	}
	return t, err
}

// parseBulkOp reads one operation of a bulkWrite; the name of its first field, insert, update or delete, determines
// the kind.
func parseBulkOp(c *command.Call, d bson.Raw) (op bulkOp, err error) {
	first, _ := d.First()
	kind := string(first.Name)
	field := "bulkWrite." + kind
	required := []string{"filter"}
	switch kind {
	case "insert":
		op.kind, required = bulkInsert, []string{"document"}
	case "update":
		op.kind, required = bulkUpdate, []string{"filter", "updateMods"}
	case "delete":
		op.kind = bulkDelete
	default:
		return op, mongoerr.UnknownField(field)
	}
	if first.Value.IsNullish() {
		return op, mongoerr.MissingField(field + "." + kind)
	}
	n, ok := arguments.RoundedLong(first.Value)
	if !ok {
		return op, mongoerr.WrongType(field+"."+kind, first.Value.Type.String(), "int", "decimal", "double", "long")
	}
	op.ns = int(max(-1, min(n, command.BatchMax+1)))
	err = arguments.EachField(d, field, func(name string, v bson.Value) (bool, error) {
		if name == kind {
			return true, nil
		}
		var known bool
		var err error
		switch op.kind {
		case bulkInsert:
			known = name == "document"
			op.doc, err = bulkDoc(c, field+"."+name, v)
		default:
			known, err = parseBulkStatement(c, &op, field, name, v, d)
		}
		return known, err
	})
	if err != nil {
		return op, err
	}
	for _, name := range required {
		if d.Get(name).IsNullish() {
			return op, mongoerr.MissingField(field + "." + name)
		}
	}
	if op.multi && len(op.sort) > 0 {
		return op, mongoerr.New(mongoerr.FailedToParse, "Cannot specify sort with multi=true")
	}
	return op, nil
}

// bulkDoc reads a field of a bulkWrite operation that must be a document. It returns nil for a missing field:
// parseBulkOp later refuses an operation without a required field.
func bulkDoc(c *command.Call, field string, v bson.Value) (bson.Raw, error) {
	if v.IsMissing() {
		return nil, nil
	}
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return nil, mongoerr.WrongType(field, v.Type.String(), "object")
	}
	return d, nil
}

// parseBulkStatement reads a field of an update or delete.
func parseBulkStatement(c *command.Call, op *bulkOp, field, name string, v bson.Value, d bson.Raw) (known bool, err error) {
	updates := op.kind == bulkUpdate
	full := field + "." + name
	switch {
	case name == "filter":
		var doc bson.Raw
		doc, err = bulkDoc(c, full, v)
		op.q = doc.Value()
	case name == "multi":
		op.multi, err = c.StrictBool(name, v)
	case name == "hint":
		if v.IsMissing() {
			return true, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
		}
		op.hint, err = c.HintArg(v)
	case name == "collation":
		op.collation = v
		_, err = bulkDoc(c, full, v)
	case name == "sampleId":
	case !updates:
		return false, nil
	case name == "updateMods":
		op.u = v
		if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
			err = mongoerr.New(mongoerr.FailedToParse, "Update argument must be either an object or an array")
		}
	case name == "upsert":
		op.upsert, err = c.StrictBool(name, v)
	case name == "upsertSupplied":
		op.upsertSupply, err = c.StrictBool(name, v)
	case name == "arrayFilters":
		if !v.IsMissing() {
			op.filters, err = c.DocArray(name, v, command.BatchMax)
		}
	case name == "constants":
		op.constants, err = bulkDoc(c, full, v)
	case name == "sort":
		op.sort, err = bulkDoc(c, full, v)
	case name == "allowShardKeyUpdatesWithoutFullShardKeyInQuery":
	default:
		return false, nil
	}
	return true, err
}
