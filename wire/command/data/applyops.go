package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// entry is one operation of applyOps: an entry of an oplog.
type entry struct {
	op    string
	ns    collection.Namespace
	uuid  bson.Value // ui: the collection's, whatever its name is by now
	o, o2 bson.Raw
}

// runApplyOps does what entries of an oplog say, one after the other, up to the
// first that fails; those before stay done. MongoDB's mongos does not have it; here
// it is the way in which mongorestore --oplogReplay and --preserveUUID reach a
// server, however that is shown.
// Arguments that it does not know are left aside, those that it once had refused.
// Manual: reference/command/applyOps. Observed: MongoDB 8.2.
// Errors: those of parseEntry and of the operations, with applied and results.
func runApplyOps(c *command.Call) error {
	if err := c.RefuseStrict(); err != nil {
		return err
	}
	upsert := true
	err := c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "alwaysUpsert":
			if v.IsMissing() {
				break
			}
			if upsert, err = c.StrictBool(name, v); upsert {
				err = mongoerr.New(6711601, "The argument alwaysUpsert is not supported any more")
			}
		case "allowAtomic": // they need not be
			_, err = c.StrictBool(name, v)
		case "bypassDocumentValidation":
			c.Op.BypassValidation, err = c.BoolArg(name, v)
		case "oplogApplicationMode":
			_, err = c.EnumArg(name, v, "ApplyOps", "InitialSync", "Secondary")
		case "count":
			_, err = c.LongArg(name, v)
		case "partialTxn":
			err = mongoerr.New(31056, "applyOps does not take the field %s: parts of transactions are not applied", name)
		case "preCondition":
			err = mongoerr.New(6711600, "The argument preCondition is not supported any more")
		case "prepare":
			err = mongoerr.New(mongoerr.BadValue, "applyOps does not take the field prepare: transactions are not prepared by it")
		}
		return true, err
	})
	if err != nil {
		return err
	}
	docs, err := c.DocArray("applyOps", c.Value, command.BatchMax)
	if err != nil {
		return err
	}
	return applyEntries(c, docs, upsert)
}

// applyEntries applies the entries and writes applied and results; entries that say only
// something do not count.
func applyEntries(c *command.Call, docs []bson.Raw, upsert bool) error {
	good := 0
	for _, d := range docs {
		err := c.Op.Env.Interrupted()
		var counts bool
		if err == nil {
			counts, err = applyEntry(c, d, upsert)
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

// appendApplied says that n entries were tried, of which the first good ones
// succeeded.
func appendApplied(b *bson.Builder, n, good int) {
	b.Int32("applied", int32(n))
	b.BeginArray("results")
	for i := range n {
		b.Bool("", i < good)
	}
	b.End()
}

// applyEntry applies one entry; counts is false for one that only says something.
func applyEntry(c *command.Call, d bson.Raw, upsert bool) (counts bool, err error) {
	e, err := parseEntry(d)
	if err != nil {
		return true, err
	}
	switch e.op {
	case "n":
		return false, nil
	case "c":
		return true, applyCommand(c, &e, upsert)
	}
	if !e.uuid.IsMissing() {
		coll := collectionOf(c, e.uuid)
		if named := c.Cluster.Catalog.Peek().Collection(e.ns); coll == nil && named != nil && named.Options.TimeSeries != nil {
			coll = named // no client knows its UUID
		}
		if coll == nil {
			return true, mongoerr.New(mongoerr.NamespaceNotFound, "There is no collection with the UUID that an entry on %s names", e.ns)
		}
		e.ns = coll.Namespace
	}
	if err := collection.CheckNamespace(e.ns); err != nil {
		return true, err
	}
	return true, applyDocument(c, &e, upsert)
}

// parseEntry reads an entry; fields that tell where it comes from (ts, t, wall and
// so on) are left aside.
// Errors: FailedToParse (9), TypeMismatch (14), InvalidNamespace (73).
func parseEntry(d bson.Raw) (e entry, err error) {
	malformed := func(what string) error {
		return mongoerr.New(mongoerr.FailedToParse, "An entry of applyOps needs %s: %s", what, shownEntry(d))
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
			e.ns, ok = collection.ParseNamespace(s), hasNS
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
	switch {
	case !hasNS:
		return e, malformed("a field ns")
	case e.o == nil:
		return e, malformed("a field o")
	case e.op == "c" && e.ns.Coll != "$cmd":
		return e, mongoerr.New(mongoerr.InvalidNamespace, "The namespace of a command entry is a database's $cmd, not %s", e.ns)
	}
	return e, nil
}

// shownEntry prints an entry for a message.
func shownEntry(d bson.Raw) string {
	if len(d) > command.CommandBytesMax {
		return "a large one"
	}
	return d.String()
}

// applyOpsPrivileges notes what each of the operations needs; entries with UUIDs besides need
// useUUID and forceUUID. Manual: reference/command/applyOps#required-access.
func applyOpsPrivileges(q *command.PrivilegeCheck) {
	q.Docs("applyOps", func(d bson.Raw) { entryPrivileges(q, d) })
}

// entryPrivileges notes what one entry of applyOps needs.
func entryPrivileges(q *command.PrivilegeCheck, d bson.Raw) {
	e, err := parseEntry(d)
	if err != nil {
		return // the command says so
	}
	if !e.uuid.IsMissing() {
		q.NeedOnCluster(auth.UseUUID)
		q.NeedOnCluster(auth.ForceUUID)
		if coll := collectionOf(q.Call, e.uuid); coll != nil && e.op != "c" {
			e.ns = coll.Namespace
		}
	}
	switch e.op {
	case "i":
		q.Need(auth.Insert, e.ns)
		q.Need(auth.Update, e.ns)
	case "u":
		q.Need(auth.Update, e.ns)
		q.Need(auth.Insert, e.ns)
	case "d":
		q.Need(auth.Remove, e.ns)
	case "n":
		q.NeedOnCluster(auth.AppendOplogNote)
	case "c":
		if first, ok := e.o.First(); ok && string(first.Name) == "applyOps" {
			list, _ := first.Value.Array()
			for v := range list.Values() {
				if d, ok := v.Doc(); ok {
					entryPrivileges(q, d)
				}
			}
			return
		}
		body, err := e.command()
		if err != nil || body == nil {
			return
		}
		db := q.DB
		q.DB = e.ns.DB
		q.Nested(body)
		q.DB = db
	}
}
