package bundle

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// oneCollection is a collection of collections.json.
type oneCollection struct {
	Namespace  string            `json:"ns"`
	Type       string            `json:"type,omitempty"`
	Options    json.RawMessage   `json:"options,omitempty"`
	Indexes    []json.RawMessage `json:"indexes,omitempty"`
	Statistics json.RawMessage   `json:"statistics,omitempty"`
	Throughput json.RawMessage   `json:"throughput,omitempty"`
	Partitions json.RawMessage   `json:"partitions,omitempty"`
	Errors     []string          `json:"errors,omitempty"`
}

// collections describes the collections of all databases except config and local. If its time is over, or there are
// more than b.Collections, it returns those that it has.
func collections(ctx context.Context, b *Bundle) ([]byte, error) {
	d, err := b.Run(ctx, "admin", bson.D{{"listDatabases", 1}}.Doc())
	if err != nil {
		return nil, err
	}
	out := []oneCollection{}
	databases, _ := d.Get("databases").Array()
	var failed error
	for v := range databases.Values() {
		doc, _ := v.Doc()
		db, _ := doc.Get("name").Str()
		if db == "config" || db == "local" {
			continue // the server's own
		}
		listed, more, err := b.listed(ctx, db, b.Collections-len(out)+1)
		if err != nil {
			failed = err
			continue
		}
		for _, c := range listed {
			if more = more || len(out) == b.Collections; len(out) == b.Collections {
				break
			}
			if ctx.Err() != nil {
				break
			}
			out = append(out, b.collection(ctx, db, c))
		}
		if ctx.Err() != nil {
			failed = ctx.Err()
			break
		}
		if more {
			failed = fmt.Errorf("only the first %d collections are in it", len(out))
			break
		}
	}
	text, err := indented(out)
	if err == nil {
		err = failed
	}
	return text, err
}

// listed returns at most limit collections of a database, as listCollections does. more reports whether there are others.
func (b *Bundle) listed(ctx context.Context, db string, limit int) (list []bson.Raw, more bool, err error) {
	reply, err := b.Run(ctx, db, bson.D{{"listCollections", 1}, {"cursor", bson.D{{"batchSize", limit}}}}.Doc())
	if err != nil {
		return nil, false, err
	}
	for c := range remote.FirstBatch(reply) {
		list = append(list, c)
	}
	cursor, _ := reply.Get("cursor").Doc()
	id, _ := cursor.Get("id").AsInt64()
	if id != 0 {
		_, err = b.Run(ctx, db, bson.D{{"killCursors", "$cmd.listCollections"}, {"cursors", bson.A{id}}}.Doc())
	}
	return list, id != 0, err
}

// statistics are the fields of collStats that a bundle has.
var statistics = []string{"size", "count", "avgObjSize", "storageSize", "nindexes", "indexSizes", "totalIndexSize", "totalSize", "sharded", "capped", "numOrphanDocs"}

// collection describes one collection, by its document of listCollections.
func (b *Bundle) collection(ctx context.Context, db string, listed bson.Raw) oneCollection {
	name, _ := listed.Get("name").Str()
	kind, _ := listed.Get("type").Str()
	x := oneCollection{Namespace: db + "." + name, Type: kind}
	json := func(d bson.Raw) json.RawMessage { return json.RawMessage(ejson.String(d)) }
	if options, ok := listed.Get("options").Doc(); ok && !options.IsEmpty() {
		x.Options = json(keepOrShape(options, collectionOptions))
	}
	if kind == "view" {
		return x
	}
	run := func(command bson.D, use func(bson.Raw)) {
		reply, err := b.Run(ctx, db, command.Doc())
		if err != nil {
			x.Errors = append(x.Errors, command[0][0].(string)+": "+sentence(err.Error()))
			return
		}
		use(reply)
	}
	run(bson.D{{"listIndexes", name}}, func(reply bson.Raw) {
		for d := range remote.FirstBatch(reply) {
			x.Indexes = append(x.Indexes, json(keepOrShape(d, indexFields)))
		}
	})
	run(bson.D{{"collStats", name}}, func(reply bson.Raw) { x.Statistics = json(pick(reply, statistics...)) })
	run(bson.D{{"customAction", "GetCollection"}, {"collection", name}}, func(reply bson.Raw) {
		x.Throughput = json(without(reply, append([]string{"indexes", "database", "collection"}, replyFields...)...))
	})
	run(bson.D{{"customAction", "GetPartitions"}, {"collection", name}}, func(reply bson.Raw) { x.Partitions = json(partitions(reply)) })
	return x
}
