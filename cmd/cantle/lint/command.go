package lint

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/wire/session"
)

// harmlessCommands are the commands that have a query language or options, and do no harm when they run on the
// linter's server, which has no data. Of all others only the names are checked.
var harmlessCommands = []string{
	"aggregate", "bulkWrite", "collMod", "count", "create", "createIndexes", "delete", "distinct", "explain", "find",
	"findAndModify", "findandmodify", "insert", "mapReduce", "mapreduce", "update",
}

// aboutDB and aboutColl are the database and collection used for a document that names no collection, such as a
// filter.
const aboutDB, aboutColl = "test", "c"

// isCommand reports whether a document of a checked file is a command, and not a filter: its first field is the name
// of a command, with a string, the command to explain, or a number; with a number, one of harmlessCommands also needs
// the field pipeline or ops.
func (l *Linter) isCommand(doc bson.Raw) bool {
	first, ok := doc.First()
	if !ok {
		return false
	}
	name := string(first.Name)
	switch {
	case !l.scratch.commands[name] && l.row(name) == nil:
		return false
	case first.Value.Type == bson.TypeString:
		return true
	case name == "explain":
		return first.Value.Type == bson.TypeDocument
	}
	return first.Value.IsNumber() && (!slices.Contains(harmlessCommands, name) || !doc.Get("pipeline").IsMissing() || !doc.Get("ops").IsMissing())
}

// row returns the row of a command in the table of the account's features, whatever the case of its name; nil if
// there is none.
func (l *Linter) row(name string) *cosmos.Row {
	for i := range cosmos.Command.Rows() {
		if r := &cosmos.Command.Rows()[i]; strings.EqualFold(r.Name, name) {
			return r
		}
	}
	return nil
}

// document checks one document of a file: a command, a filter, an update, or an entry of a log or a profile.
func (l *Linter) document(ctx context.Context, at location, doc bson.Raw) error {
	logged := false
	for _, name := range []string{"command", "originatingCommand"} {
		inner, ok := doc.Get(name).Doc()
		ns, isEntry := doc.Get("ns").Str()
		if !ok || !isEntry {
			continue
		}
		if err := l.command(ctx, at, written(ns, inner), true); err != nil {
			return err
		}
		logged = true
	}
	switch first, _ := doc.First(); {
	case logged:
		return nil
	case l.isCommand(doc):
	case isUpdate(string(first.Name)):
		doc = updateOf(aboutColl, bson.D{{"q", bson.D{}}, {"u", doc}}.Doc())
	default:
		doc = findOf(doc)
	}
	return l.command(ctx, at, doc, false)
}

func isUpdate(name string) bool {
	return slices.ContainsFunc(update.Operators, func(o update.Operator) bool { return o.Name == name }) &&
		!slices.ContainsFunc(match.Operators, func(o match.Operator) bool { return o.Name == name })
}

// pipeline checks the stages of a pipeline.
func (l *Linter) pipeline(ctx context.Context, at location, stages bson.Value) error {
	return l.command(ctx, at, bson.D{{"aggregate", aboutColl}, {"pipeline", stages}, {"cursor", bson.D{}}}.Doc(), false)
}

// written returns the complete command of an entry of a log. If the entry has only the statement of an update or a
// delete, written makes the command from it.
func written(ns string, command bson.Raw) bson.Raw {
	db, coll, _ := strings.Cut(ns, ".")
	switch {
	case !command.Get("q").IsMissing() && !command.Get("u").IsMissing():
		command = updateOf(coll, command)
	case !command.Get("q").IsMissing():
		command = bson.D{{"delete", coll}, {"deletes", bson.A{bson.D{{"q", command.Get("q")}, {"limit", 0}}}}}.Doc()
	}
	if !command.Get("$db").IsMissing() {
		return command
	}
	return append(command.D(), bson.E{"$db", db}).Doc()
}

// updateOf makes a command of a statement.
func updateOf(coll string, statement bson.Raw) bson.Raw {
	var parts bson.D
	for _, name := range []string{"q", "u", "multi", "upsert", "arrayFilters", "collation", "sort", "c"} {
		parts = append(parts, bson.E{name, statement.Get(name)})
	}
	return bson.D{{"update", coll}, {"updates", bson.A{parts}}}.Doc()
}

func findOf(filter bson.Raw) bson.Raw {
	return bson.D{{"find", aboutColl}, {"filter", filter}}.Doc()
}

// ignoredArguments are arguments of commands that are left out before a command is checked: they do not depend on the
// features of an account, or have a meaning only for the server that the command was sent to.
var ignoredArguments = []string{"lsid", "autocommit", "startTransaction", "readConcern", "writeConcern", "maxTimeMS", "apiVersion", "apiStrict",
	"apiDeprecationErrors", "shardVersion", "databaseVersion", "clientOperationKey", "mayBypassWriteBlocking", "needsMerge", "fromMongos", "fromRouter", "collectionUUID"}

// command runs a command on the linter's server, and adds the features that it used as findings.
func (l *Linter) command(ctx context.Context, at location, doc bson.Raw, together bool) error {
	first, ok := doc.First()
	if !ok {
		return nil
	}
	l.looked.commands++
	name := string(first.Name)
	if !slices.Contains(harmlessCommands, name) {
		l.checkName(at, name, together)
		return nil
	}
	db, ok := doc.Get("$db").Str()
	if !ok {
		db = aboutDB
	}
	reply, err := l.scratch.run(ctx, db, plain(doc))
	if err != nil {
		return err
	}
	if err := failure(reply); err != nil && !together {
		l.note(at, "checked in part only: %v", err)
	}
	for _, x := range l.scratch.used() {
		l.add(finding{x, at, parsed, 1}, together)
	}
	return l.scratch.clear(ctx, db, name)
}

// checkName checks a command by its name only.
func (l *Linter) checkName(at location, name string, together bool) {
	r := l.row(name)
	switch {
	case r != nil && !l.account.Has(r):
		l.add(finding{feature{cosmos.Command, r.Name}, at, parsed, 1}, together)
	case r == nil && l.scratch.commands[name]:
		l.add(finding{feature{cosmos.Command, name}, at, parsed, 1}, together)
	case r == nil:
		l.note(at, "%q is not a command", name)
	}
}

// timeMax bounds a command of the linter, in milliseconds.
const timeMax = 5000

// plain returns a command without the arguments that belong to its session and server, so that the linter's server
// can run it. A retryable write stays one, in a new session.
func plain(doc bson.Raw) bson.Raw {
	retryable := !doc.Get("txnNumber").IsMissing() && doc.Get("autocommit").IsMissing()
	b := bson.NewBuilder(nil)
	for name, v := range doc.Fields() {
		if bytes.HasPrefix(name, []byte("$")) || slices.Contains(ignoredArguments, string(name)) || string(name) == "txnNumber" {
			continue
		}
		b.ValueBytes(name, v)
	}
	b.Int32("maxTimeMS", timeMax)
	if retryable {
		id := session.NewID(session.Owner{}).UUID
		b.BeginDoc("lsid")
		b.Binary("id", 4, id[:])
		b.End()
		b.Int64("txnNumber", 1)
	}
	return b.Doc()
}
