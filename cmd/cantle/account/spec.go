package account

import (
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/collection/index"
)

// IsID reports whether an index specification has the key {_id: 1}, whatever its name.
func IsID(spec bson.Raw) bool {
	key, _ := spec.Get("key").Doc()
	first, ok := key.First()
	n, number := first.Value.AsFloat()
	return ok && key.Len() == 1 && string(first.Name) == "_id" && number && n == 1
}

// defaultField is the only field of the index by which an old account's list of indexes represents that every field
// is indexed.
// Observed: hashicorp/terraform-provider-azurerm, "resource_arm_cosmosdb_mongo_collection".
const defaultField = "DocumentDBDefaultIndex"

// IsDefault reports whether an index specification stands for no real index: an account of version 3.2 lists it to
// show that every field is indexed.
func IsDefault(spec bson.Raw) bool {
	key, _ := spec.Get("key").Doc()
	return key.Has(defaultField)
}

// IsListed reports whether an index specification has the form in which accounts of Azure Cosmos DB list indexes:
// version 1 with the namespace, or an expiry of -1 seconds, which MongoDB does not have.
// Observed: Azure-Samples/cosmos-db-mongodb-api-javascript-samples, "225-get-collection-indexes".
func IsListed(spec bson.Raw) bool {
	v, _ := spec.Get("v").AsInt64()
	seconds, _ := spec.Get("expireAfterSeconds").AsInt64()
	return v == 1 && spec.Has("ns") || seconds == -1
}

// plain returns an index specification without the fields in which servers differ: the version, the namespace, and
// Cantle's option for an expiry by the last write.
func plain(spec bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range spec.Fields() {
		switch string(name) {
		case "v", "ns", index.LastWriteOption:
		default:
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

// New returns the index specification for createIndexes, made from the one in a dump; options are those of the dumped
// collection. If the collection has a default collation and the index none, the result names the simple collation:
// otherwise the index would get the collection's.
func New(spec, options bson.Raw) bson.Raw {
	spec = plain(spec)
	if spec.Has("collation") || !options.Has("collation") {
		return spec
	}
	return append(bson.D{{"collation", bson.D{{"locale", "simple"}}}}, spec.D()...).Doc()
}

// ByLastWrite returns the specification of an index {_ts: 1} by which documents expire so many seconds after their
// last write. With -1 seconds, each document expires by its own field ttl.
func ByLastWrite(spec bson.Raw, seconds int64) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range plain(spec).Fields() {
		if string(name) == "expireAfterSeconds" {
			b.Int("expireAfterSeconds", seconds)
			continue
		}
		b.ValueBytes(name, v)
	}
	return b.Doc()
}

// ForMongoDB returns an index specification that MongoDB accepts. If MongoDB has no counterpart, left describes the
// index, which is then left out. lastWrite means that documents expire by the index after their last write, which
// MongoDB does not have.
func ForMongoDB(spec bson.Raw, lastWrite bool) (out bson.Raw, left string) {
	name, _ := spec.Get("name").Str()
	seconds, _ := spec.Get("expireAfterSeconds").AsInt64()
	switch {
	case IsDefault(spec):
		return nil, fmt.Sprintf("the index %s of every field", name)
	case lastWrite && seconds == -1:
		return nil, fmt.Sprintf("the index %s, which expires documents by their own ttl", name)
	case lastWrite:
		return nil, fmt.Sprintf("the index %s, which expires documents %s after their last write", name, columns.Plural(seconds, "second"))
	}
	return append(bson.D{{"v", 2}}, plain(spec).D()...).Doc(), ""
}

// KeyForMongoDB returns a line for the user about the shard key of a dumped collection: the command that gives the
// key to a collection of MongoDB, or that MongoDB has no such key. In MongoDB at most one field of a key is hashed,
// and all others are 1.
func KeyForMongoDB(ns string, key bson.Raw) string {
	hashed, others := 0, false
	for _, v := range key.Fields() {
		kind, _ := v.Str()
		n, _ := v.AsFloat()
		switch {
		case kind == "hashed":
			hashed++
		case n != 1:
			others = true
		}
	}
	text := "the shard key " + ejson.String(key)
	if hashed > 1 || others {
		return text + ", which has no counterpart in MongoDB"
	}
	return fmt.Sprintf("%s (in a sharded cluster: sh.shardCollection(%q, %s))", text, ns, ejson.String(key))
}

// FieldOf returns the field of a hashed shard key with one field, the only kind that an account's commands can make;
// ok is false for any other key.
func FieldOf(key bson.Raw) (field string, ok bool) {
	first, _ := key.First()
	kind, _ := first.Value.Str()
	return string(first.Name), key.Len() == 1 && kind == "hashed"
}
