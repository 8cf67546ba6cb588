package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/operations"
)

// entry holds one operation of applyOps in the form of an oplog entry: an insert, update, delete, command or no-op.
type entry struct {
	op    string
	ns    collection.Namespace // for an entry with a UUID, the current name of that collection
	uuid  bson.Value           // ui
	o, o2 bson.Raw
	part  *command.Part // the command of an entry with the op c or of a view; nil if there is nothing to do
	parts []*entry      // the entries of an applyOps in an entry
	err   error         // the reason why the entry cannot be applied
}

// applyOpsArgs holds the arguments of applyOps.
type applyOpsArgs struct {
	entries []*entry
	upsert  bool
}

// parseApplyOps reads the arguments of applyOps. If an entry cannot be read, its error ends the command only when the
// entry would be applied: the effects of earlier entries remain. Unknown arguments are ignored; alwaysUpsert: true,
// partialTxn, preCondition and prepare are refused.
// Manual: reference/command/applyOps. Observed: MongoDB 8.2.
func parseApplyOps(c *command.Call) (command.Request, error) {
	a := &applyOpsArgs{upsert: true}
	refused := func(name string, code mongoerr.Code, text string) arguments.Arg {
		return arguments.By(name, func(bson.Value) error { return mongoerr.New(code, "%s", text) }).WithNull()
	}
	err := c.ReadArgs(
		arguments.StrictBool("alwaysUpsert", &a.upsert).Check(func() error {
			if a.upsert {
				return mongoerr.New(6711601, "The argument alwaysUpsert is not supported any more")
			}
			return nil
		}),
		arguments.Ignored("allowAtomic"), // entries need not be atomic; of any type, as in MongoDB
		arguments.Bool("bypassDocumentValidation", &c.Op.BypassValidation),
		arguments.Enum("oplogApplicationMode", nil, "ApplyOps", "InitialSync", "Secondary"),
		arguments.Long("count", nil),
		refused("partialTxn", 31056, "applyOps does not take the field partialTxn: parts of transactions are not applied"),
		refused("preCondition", 6711600, "The argument preCondition is not supported any more"),
		refused("prepare", mongoerr.BadValue, "applyOps does not take the field prepare: transactions are not prepared by it"),
		arguments.Others(),
	)
	if err != nil {
		return nil, err
	}
	docs, err := c.DocArray("applyOps", c.Value, command.BatchMax)
	a.entries = readEntries(c, docs)
	return a, err
}

// readEntries reads entries of applyOps up to the first invalid entry. The invalid entry is the last of the list,
// with its error in err.
func readEntries(c *command.Call, docs []bson.Raw) (list []*entry) {
	for _, d := range docs {
		e, err := parseEntry(d, c.Server)
		if err == nil {
			err = e.complete(c)
		}
		e.err = err
		if list = append(list, &e); err != nil {
			break
		}
	}
	return list
}

// complete looks up the collection of an entry that has a UUID, and reads the command of an entry that has one, so
// that authorization and execution use the same values.
func (e *entry) complete(c *command.Call) (err error) {
	switch {
	case e.op == "n":
		return nil
	case e.op == "c":
		first, ok := e.o.First()
		if ok && string(first.Name) == c.Name() { // a transaction, or an applyOps of another server
			docs, err := c.DocArray(c.Name(), first.Value, command.BatchMax)
			e.parts = readEntries(c, docs)
			return err
		}
		body, err := e.command()
		if err == nil && body != nil {
			e.part, err = c.Part(e.ns.DB, body)
		}
		return err
	case e.ns.Coll == "system.views":
		body, err := e.viewCommand()
		if err == nil {
			e.part, err = c.Part(e.ns.DB, body)
		}
		return err
	case !e.uuid.IsMissing():
		if found, ns := e.find(c); found {
			e.ns = ns
		}
	}
	return nil
}

// find looks up the collection of the entry's UUID.
func (e *entry) find(c *command.Call) (found bool, ns collection.Namespace) {
	coll := collectionOf(c, e.uuid)
	if named := c.Cluster.Catalog().Collection(e.ns); coll == nil && named != nil && named.Options.TimeSeries != nil {
		coll = named // clients never see the UUID of a time-series collection
	}
	if coll == nil {
		return false, e.ns
	}
	return true, coll.Namespace
}

// Needs notes the privileges of each operation in an applyOps. An insert or update needs both insert and update.
// Entries with UUIDs also need useUUID and forceUUID.
// Manual: reference/command/applyOps#required-access.
func (a *applyOpsArgs) Needs(q *command.PrivilegeCheck) {
	for _, e := range a.entries {
		e.needs(q)
	}
}

// needs notes the privileges of one entry.
func (e *entry) needs(q *command.PrivilegeCheck) {
	if !e.uuid.IsMissing() {
		q.NeedOnCluster(auth.UseUUID)
		q.NeedOnCluster(auth.ForceUUID)
	}
	switch e.op {
	case "i", "u":
		q.Need(auth.Insert, e.ns)
		q.Need(auth.Update, e.ns)
	case "d":
		q.Need(auth.Remove, e.ns)
	case "n":
		q.NeedOnCluster(auth.AppendOplogNote)
	case "c":
		for _, p := range e.parts {
			p.needs(q)
		}
	}
	if e.part != nil {
		q.Part(e.part)
	}
}

// Run applies the entries of an applyOps in their order, up to the first that fails; the effects of earlier entries
// remain. MongoDB's mongos does not have this command; here mongorestore --oplogReplay and --preserveUUID need it, so
// it exists even if clients see a mongos. The reply has the fields applied and results; entries without an operation
// do not count.
// Errors: errors of parseEntry and of the operations, each with the fields applied and results.
func (a *applyOpsArgs) Run(c *command.Call) error {
	good := 0
	for _, e := range a.entries {
		err := c.Op.Env.Interrupted()
		var counts bool
		if err == nil {
			counts, err = applyEntry(c, e, a.upsert)
		}
		if err != nil {
			b := bson.NewBuilder(nil)
			appendApplied(b, good+1, good)
			return mongoerr.From(cluster.Translate(err)).WithFields(b.Doc().Elements())
		}
		if counts {
			good++
		}
	}
	appendApplied(c.Reply, good, good)
	return nil
}

// appendApplied appends the fields applied and results: applyOps has tried n entries, of which the first good
// succeeded.
func appendApplied(b *bson.Builder, n, good int) {
	b.Int32("applied", int32(n))
	b.BeginArray("results")
	for i := range n {
		b.Bool("", i < good)
	}
	b.End()
}

// applyEntry applies one entry of applyOps; counts is false if the entry has no operation (op: "n"), so that the
// reply does not count it.
func applyEntry(c *command.Call, e *entry, upsert bool) (counts bool, err error) {
	if e.err != nil {
		return true, e.err
	}
	switch e.op {
	case "n":
		return false, nil
	case "c":
		return true, applyCommand(c, e, upsert)
	}
	if e.part != nil {
		return true, applyCommand(c, e, upsert)
	}
	if !e.uuid.IsMissing() {
		found, named := e.find(c)
		if !found {
			return true, mongoerr.New(mongoerr.NamespaceNotFound, "There is no collection with the UUID that an entry on %s names", e.ns)
		}
		if named != e.ns { // an earlier entry has renamed or created the collection
			e.ns = named
			if err := c.Require(e.needs); err != nil {
				return true, err
			}
		}
	}
	if err := collection.CheckNamespace(e.ns); err != nil {
		return true, err
	}
	return true, applyDocument(c, e, upsert)
}

// parseEntry reads an oplog entry for applyOps. It ignores other fields, such as ts, t and wall.
// Errors: FailedToParse (9), InvalidNamespace (73), IDLDuplicateField (40413).
func parseEntry(d bson.Raw, secrets operations.Secrets) (e entry, err error) {
	malformed := func(what string) error {
		return mongoerr.New(mongoerr.FailedToParse, "An entry of applyOps needs %s: %s", what, shownEntry(operations.Redact(d, secrets)))
	}
	if name, twice := d.Repeated(); twice {
		return e, mongoerr.RepeatedField("applyOps.applyOps." + string(name))
	}
	var hasNS bool
	for name, v := range d.Fields() {
		ok := true
		switch string(name) {
		case "op":
			e.op, ok = v.Str()
		case "ns":
			var s string
			s, hasNS = v.Str()
			e.ns = collection.ParseNamespace(s)
		case "ui":
			e.uuid = v
			ok = v.Type == bson.TypeBinary
		case "o":
			e.o, ok = v.Doc()
		case "o2":
			e.o2, ok = v.Doc()
		}
		if !ok {
			return e, malformed("a valid field " + string(name))
		}
	}
	switch e.op {
	case "i", "u", "d", "c", "n":
	default:
		return e, malformed("a field op of i, u, d, c or n")
	}
	if !hasNS || e.op != "n" && e.ns.Coll == "" {
		return e, mongoerr.New(mongoerr.IllegalOperation, "An entry of applyOps needs the namespace of a collection in its field ns: %s",
			shownEntry(operations.Redact(d, secrets)))
	}
	switch {
	case e.o == nil:
		return e, malformed("a field o")
	case e.op == "c" && e.ns.Coll != "$cmd":
		return e, mongoerr.New(mongoerr.InvalidNamespace, "The namespace of a command entry is a database's $cmd, not %s", e.ns)
	}
	return e, nil
}

// shownEntry formats an entry for a message.
func shownEntry(d bson.Raw) string {
	if len(d) > command.CommandBytesMax {
		return "a large one"
	}
	return d.String()
}
