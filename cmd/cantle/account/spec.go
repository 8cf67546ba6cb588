package account

import (
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/index"
)

// IsID reports whether an index is that on {_id: 1}, which every collection has.
func IsID(spec bson.Raw) bool {
	key, _ := spec.Get("key").Doc()
	first, ok := key.First()
	n, number := first.Value.AsFloat()
	return ok && key.Len() == 1 && string(first.Name) == "_id" && number && n == 1
}

// defaultField is the only field of the index by which old accounts list that they index every field.
// Observed: hashicorp/terraform-provider-azurerm, "resource_arm_cosmosdb_mongo_collection".
const defaultField = "DocumentDBDefaultIndex"

// IsDefault reports whether an entry represents no index: an account of version 3.2 indexes every field.
func IsDefault(spec bson.Raw) bool {
	key, _ := spec.Get("key").Doc()
	return key.Has(defaultField)
}

// IsListed reports whether a specification has the form in which accounts list it: version 1 with the namespace,
// or an expiry that MongoDB does not have. Observed: Azure-Samples/cosmos-db-mongodb-api-javascript-samples,
// "225-get-collection-indexes".
func IsListed(spec bson.Raw) bool {
	v, _ := spec.Get("v").AsInt64()
	seconds, _ := spec.Get("expireAfterSeconds").AsInt64()
	return v == 1 && spec.Has("ns") || seconds == -1
}

// plain returns a specification without the fields in which servers differ: the version, the namespace, and
// the option by which Cantle keeps an expiry by the last write.
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

// New makes the specification for createIndexes from that in a dump of a collection with these options. It
// names the simple collation where the collection has another default, which the index would
// get otherwise.
func New(spec, options bson.Raw) bson.Raw {
	spec = plain(spec)
	if spec.Has("collation") || !options.Has("collation") {
		return spec
	}
	return append(bson.D{{"collation", bson.D{{"locale", "simple"}}}}, spec.D()...).Doc()
}

// ByLastWrite makes an index {_ts: 1} by which documents expire so many seconds after their last
// write; -1 leaves it to their own ttl.
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

// ForMongoDB returns a specification for MongoDB. If MongoDB has no counterpart, left describes the
// index that is left out. With lastWrite documents expire by it after their last write.
func ForMongoDB(spec bson.Raw, lastWrite bool) (out bson.Raw, left string) {
	name, _ := spec.Get("name").Str()
	seconds, _ := spec.Get("expireAfterSeconds").AsInt64()
	switch {
	case IsDefault(spec):
		return nil, fmt.Sprintf("the index %s of every field", name)
	case lastWrite && seconds == -1:
		return nil, fmt.Sprintf("the index %s, which expires documents by their own ttl", name)
	case lastWrite:
		return nil, fmt.Sprintf("the index %s, which expires documents %d seconds after their last write", name, seconds)
	}
	return append(bson.D{{"v", 2}}, plain(spec).D()...).Doc(), ""
}

// KeyForMongoDB returns a text with the command that gives a collection of MongoDB the shard key, or
// that MongoDB has no such key: one of its fields at most is hashed, the others are 1.
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

// FieldOf returns the one field of a shard key of an account; ok is false for any other key.
func FieldOf(key bson.Raw) (field string, ok bool) {
	first, _ := key.First()
	kind, _ := first.Value.Str()
	return string(first.Name), key.Len() == 1 && kind == "hashed"
}
