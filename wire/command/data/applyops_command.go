package data

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// ignoredErrors lists, by command, the errors that applyOps ignores in entries without a UUID: they mean that the
// effect of an entry is already there, because entries may be applied more than once.
var ignoredErrors = map[string][]mongoerr.Code{
	"collMod":          {mongoerr.NamespaceNotFound, mongoerr.IndexNotFound},
	"convertToCapped":  {mongoerr.NamespaceNotFound},
	"create":           {mongoerr.NamespaceExists},
	"createIndexes":    {mongoerr.NamespaceNotFound, mongoerr.IndexAlreadyExists},
	"drop":             {mongoerr.NamespaceNotFound},
	"dropDatabase":     {mongoerr.NamespaceNotFound},
	"dropIndexes":      {mongoerr.NamespaceNotFound, mongoerr.IndexNotFound},
	"renameCollection": {mongoerr.NamespaceNotFound, mongoerr.NamespaceExists},
}

// applyCommand runs the command in an entry of applyOps, or the entries of an applyOps inside it.
// Errors: errors of the command, except for those in ignoredErrors if the entry has no UUID.
func applyCommand(c *command.Call, e *entry, upsert bool) error {
	for _, p := range e.parts {
		if _, err := applyEntry(c, p, upsert); err != nil {
			return err
		}
	}
	if e.part == nil {
		return nil
	}
	err := runPart(c, e)
	if err != nil && slices.Contains(ignoredErrors[e.part.Def.Name], mongoerr.From(err).Code) && e.uuid.IsMissing() {
		return nil
	}
	return err
}

// command returns the command of a client that has the effect of a command entry of an oplog; nil if the entry has no
// effect here.
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
		return nil, nil // nothing to do: the entry commitIndexBuild builds the index
	default:
		return nil, mongoerr.New(mongoerr.CommandNotSupported, "Entries of the command %s cannot be applied", name)
	}
	return b.Doc(), nil
}

// runPart runs the command of an applyOps entry, and discards the reply of that command. If the entry creates a
// collection and has a UUID, the collection gets that UUID; if that collection exists with that UUID, nothing
// happens.
// Errors: NamespaceExists (48) if another collection has the UUID, errors of the command.
func runPart(c *command.Call, e *entry) error {
	reply := c.Reply
	defer func() { c.Reply, c.ForcedUUID = reply, [16]byte{} }()
	c.Reply = bson.NewBuilder(nil)
	if u, ok := uuidOf(e.uuid); ok && e.part.Def.Name == "create" {
		if coll := collectionOf(c, e.uuid); coll != nil {
			first, _ := e.part.Body.First()
			if name, _ := first.Value.Str(); coll.Namespace.DB == e.part.DB && coll.Namespace.Coll == name {
				return nil
			}
			return mongoerr.New(mongoerr.NamespaceExists, "The UUID that an entry gives to a new collection is that of %s", coll.Namespace)
		}
		c.ForcedUUID = u
	}
	return e.part.Run(c)
}

// uuidOf reads a UUID.
func uuidOf(v bson.Value) (u [16]byte, ok bool) {
	subtype, data, ok := v.Binary()
	if !ok || subtype != 4 || len(data) != len(u) {
		return u, false
	}
	return [16]byte(data), true
}

// collectionOf returns the collection with a UUID, nil if there is none.
func collectionOf(c *command.Call, v bson.Value) *catalog.Collection {
	u, ok := uuidOf(v)
	if !ok {
		return nil
	}
	snap := c.Cluster.Catalog()
	for _, db := range snap.Databases() {
		for _, coll := range snap.Collections(db.Name) {
			if coll.UUID == u {
				return coll
			}
		}
	}
	return nil
}
