package data

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
)

// done are the errors by which commands of entries say that there is nothing left
// to do: entries may be applied more than once.
var done = map[string][]mongoerr.Code{
	"collMod":          {mongoerr.NamespaceNotFound, mongoerr.IndexNotFound},
	"convertToCapped":  {mongoerr.NamespaceNotFound},
	"create":           {mongoerr.NamespaceExists},
	"createIndexes":    {mongoerr.NamespaceNotFound, mongoerr.IndexAlreadyExists},
	"drop":             {mongoerr.NamespaceNotFound},
	"dropDatabase":     {mongoerr.NamespaceNotFound},
	"dropIndexes":      {mongoerr.NamespaceNotFound, mongoerr.IndexNotFound},
	"renameCollection": {mongoerr.NamespaceNotFound, mongoerr.NamespaceExists},
}

// applyCommand runs the command of an entry.
// Errors: CommandNotSupported (115), those of the command.
func applyCommand(c *command.Call, e *entry, upsert bool) error {
	first, ok := e.o.First()
	if !ok {
		return mongoerr.New(mongoerr.FailedToParse, "A command entry on %s has no command", e.ns)
	}
	if string(first.Name) == "applyOps" { // a transaction, or what was applied elsewhere
		docs, err := c.DocArray("applyOps", first.Value, command.BatchMax)
		for i := 0; i < len(docs) && err == nil; i++ {
			_, err = applyEntry(c, docs[i], upsert)
		}
		return err
	}
	body, err := e.command()
	if err != nil || body == nil {
		return err
	}
	err = runPart(c, e, body)
	f, _ := body.First()
	if err != nil && slices.Contains(done[string(f.Name)], mongoerr.From(err).Code) && e.uuid.IsMissing() {
		return nil
	}
	return err
}

// command is what a client would send to do what the entry says; nil when nothing
// is to be done.
// Errors: CommandNotSupported (115), FailedToParse (9).
func (e *entry) command() (bson.Raw, error) {
	first, ok := e.o.First()
	if !ok {
		return nil, mongoerr.New(mongoerr.FailedToParse, "A command entry on %s has no command", e.ns)
	}
	b := bson.NewBuilder(nil)
	rest := func(without ...string) {
		for name, v := range e.o.Fields() {
			if n := string(name); n != string(first.Name) && !slices.Contains(without, n) {
				b.ValueBytes(name, v)
			}
		}
	}
	switch name := string(first.Name); name {
	case "create", "drop", "dropDatabase", "collMod", "convertToCapped", "renameCollection":
		b.Value(name, first.Value)
		rest("autoIndexId", "stayTemp", "temp", "dropTarget")
		if v := e.o.Get("dropTarget"); !v.IsMissing() {
			b.Bool("dropTarget", v.Truthy() || v.Type == bson.TypeBinary)
		}
	case "dropIndexes", "dropIndex", "deleteIndexes", "deleteIndex":
		b.Value("dropIndexes", first.Value)
		b.Value("index", e.o.Get("index"))
	case "createIndexes":
		b.Value(name, first.Value)
		b.BeginArray("indexes")
		b.BeginDoc("")
		rest("ns", "background")
		b.End()
		b.End()
	case "commitIndexBuild":
		b.Value("createIndexes", first.Value)
		b.Value("indexes", e.o.Get("indexes"))
	case "startIndexBuild", "abortIndexBuild", "dbCheck":
		return nil, nil // an index is built when its commit comes
	default:
		return nil, mongoerr.New(mongoerr.CommandNotSupported, "Entries of the command %s cannot be applied", name)
	}
	return b.Doc(), nil
}

// runPart runs another command as a part of this one, without its reply. The UUID
// of an entry becomes that of the collection it creates.
func runPart(c *command.Call, e *entry, body bson.Raw) error {
	first, _ := body.First()
	def, value, own, db, reply := c.Def, c.Value, c.Reader, c.DB, c.Reply
	defer func() {
		c.Def, c.Value, c.Reader, c.DB, c.Reply = def, value, own, db, reply
		c.Env().DB, c.ForcedUUID = db, [16]byte{}
	}()
	c.Become(c.Server.Lookup(string(first.Name)), body)
	c.DB, c.Msg, c.Reply = e.ns.DB, &wire.Message{Header: own.Msg.Header}, bson.NewBuilder(nil)
	c.Env().DB = c.DB
	if u, ok := uuidOf(e.uuid); ok && c.Name() == "create" {
		if coll := collectionOf(c, e.uuid); coll != nil {
			if name, _ := first.Value.Str(); coll.Namespace.DB == c.DB && coll.Namespace.Coll == name {
				return nil
			}
			return mongoerr.New(mongoerr.NamespaceExists, "The UUID that an entry gives to a new collection is that of %s", coll.Namespace)
		}
		c.ForcedUUID = u
	}
	return c.Def.Run(c)
}

// uuidOf reads a UUID.
func uuidOf(v bson.Value) (u [16]byte, ok bool) {
	subtype, data, ok := v.Binary()
	if !ok || subtype != 4 || len(data) != len(u) {
		return u, false
	}
	return [16]byte(data), true
}

// collectionOf is the collection with a UUID, nil if there is none.
func collectionOf(c *command.Call, v bson.Value) *catalog.Collection {
	u, ok := uuidOf(v)
	if !ok {
		return nil
	}
	snap := c.Cluster.Catalog.Peek()
	for _, db := range snap.Databases() {
		for _, coll := range snap.Collections(db.Name) {
			if coll.UUID == u {
				return coll
			}
		}
	}
	return nil
}
