package changestream

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// command is a decoded Command record:
//
//	{ns: "db.$cmd", ui: UUID, view: true, series: true, o: {drop: "c", …}, o2: {…}}
//
// o2 holds the entry before the command: {collection: number, shardKey: {…}}.
type command struct {
	name string // first field of o
	id   keyspace.CollectionID
	ns   collection.Namespace // Coll is empty for dropDatabase
	to   collection.Namespace // of renameCollection
	uuid bson.Value
	view bool // also true for a time-series collection, which streams show like a view
	// series is true for a time-series collection.
	series bool
	o      bson.Raw
	o2     bson.Raw
	rec    changelog.Record // for the fields that all records have
}

// readCommand decodes a Command record; ok is false if it has another form.
func readCommand(rec *changelog.Record) (c command, ok bool) {
	c.id = rec.Collection
	c.uuid = rec.Doc.Get("ui")
	c.view = rec.Doc.Get("view").Truthy()
	c.series = rec.Doc.Get("series").Truthy()
	c.rec = *rec
	c.o, ok = rec.Doc.Get("o").Doc()
	if !ok {
		return c, false
	}
	c.o2, _ = rec.Doc.Get("o2").Doc()
	first, ok := c.o.First()
	if !ok {
		return c, false
	}
	c.name = string(first.Name)
	full, _ := rec.Doc.Get("ns").Str()
	c.ns.DB = strings.TrimSuffix(full, ".$cmd")
	target, _ := first.Value.Str()
	switch c.name {
	case "renameCollection":
		c.ns = collection.ParseNamespace(target)
		to, _ := c.o.Get("to").Str()
		c.to = collection.ParseNamespace(to)
	case "shardCollection", "reshardCollection", "refineCollectionShardKey", "unshardCollection":
		c.ns = collection.ParseNamespace(target)
	case "dropDatabase":
	default:
		c.ns.Coll = target
	}
	return c, true
}

// commandKey returns the shard key pattern that a DDL command has in a field, the zero pattern if there is none.
func commandKey(d bson.Raw, field string) shard.KeyPattern {
	spec, ok := d.Get(field).Doc()
	if !ok {
		return shard.KeyPattern{}
	}
	k, err := shard.ParseKeyPattern(spec.Clone())
	if err != nil {
		return shard.KeyPattern{}
	}
	return k
}
