package shard

import (
	"math/bits"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// A suffix spreads the documents of one shard key value, for example those of today, over a number of buckets, each a
// logical partition of its own. It is the last field of a hashed key, and only its bucket counts: the hash of its
// value modulo the number of buckets. The documents do not change.
//
//	{day: "hashed", vin: {buckets: 400}}    day and vin known: one position; day known: 400; day unknown: the line
//
// The buckets of a value are on the line at equal distances, beginning at the value's own hash, so they fall evenly
// on shards of equal size, and a value is on at most as many shards as it has buckets.
//
// A random suffix is a suffix of _id, under the collection's own random seed. So a document gets a bucket by chance,
// keeps it for its life although it is not stored, and shard key and _id together still identify one document.
// Source: Azure Cosmos DB, "synthetic-partition-keys"; the syntax is ours.

// bucketsMax is the largest number of buckets of a suffix: with more than the largest number of shards, some are
// useless.
const bucketsMax = ShardsMax

// suffixField is the name by which a suffix differs from other fields of a shard key: {vin: {buckets: 400}}.
const suffixField = "buckets"

// WithSuffix returns the shard key of a command with its argument suffix added as the last field, if there is one:
//
//	{from: "vin", buckets: 400} or {random: true, buckets: 400}
//
// Errors: BadValue, also for a suffix without a key; TypeMismatch, IDLUnknownField, IDLFailedToParse (no buckets).
func WithSuffix(key, suffix bson.Raw) (bson.Raw, error) {
	switch {
	case suffix == nil:
		return key, nil
	case key == nil:
		return nil, mongoerr.New(mongoerr.BadValue, "suffix goes with a shard key, and none is given")
	}
	from, random, buckets := "", false, bson.Value{}
	for name, v := range suffix.Fields() {
		ok, kind := true, ""
		switch string(name) {
		case "from":
			from, ok = v.Str()
			kind = "string"
		case "random":
			random, ok = v.Boolean()
			kind = "bool"
		case suffixField:
			buckets = v
		default:
			return nil, mongoerr.New(mongoerr.IDLUnknownField, "BSON field 'suffix.%s' is an unknown field.", name)
		}
		if !ok {
			return nil, mongoerr.WrongType("suffix."+string(name), v.Type.String(), kind)
		}
	}
	if (from != "") == random {
		return nil, mongoerr.New(mongoerr.BadValue, "a suffix is {from: <field>, buckets: <number>} or {random: true, buckets: <number>}, got %s", suffix)
	}
	if random {
		from = "_id"
	}
	if buckets.IsMissing() {
		return nil, mongoerr.MissingField("suffix." + suffixField)
	}
	b := bson.NewBuilder(nil)
	b.Splice(key.Elements())
	b.BeginDoc(from)
	b.Value(suffixField, buckets)
	b.End()
	return b.Doc(), nil
}

// bucketsOf returns the number of buckets in the value of a shard key field; suffix is false if the field is no
// suffix.
// Errors: BadValue.
func bucketsOf(spec bson.Raw, name string, v bson.Value) (n int, suffix bool, err error) {
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return 0, false, nil
	}
	count, ok := d.Lookup(suffixField)
	if !ok || d.Len() != 1 {
		return 0, false, nil
	}
	if n, ok := count.AsInt64(); ok && n >= 2 && n <= bucketsMax {
		return int(n), true, nil
	}
	return 0, true, mongoerr.New(mongoerr.BadValue, "Shard key %s must spread '%s' over a whole number of 2 to %d buckets", text(spec), name, bucketsMax)
}

// suffix returns the field that only determines a bucket.
func (k KeyPattern) suffix() (f Field, ok bool) {
	fields := k.Fields()
	if k.Levels() == len(fields) {
		return f, false
	}
	return fields[len(fields)-1], true
}

// Levels returns the number of leading shard key fields whose values determine positions in full: all but a suffix.
func (k KeyPattern) Levels() int {
	if k.p == nil {
		return 0
	}
	return k.p.levels
}

// bucket returns the bucket, from 0, into which the value v of the suffix f falls.
func (k KeyPattern) bucket(f Field, v bson.Value) int { return int(k.hash(v) % uint64(f.Buckets)) }

// distance returns the distance on the line between the hash of a value and its n-th bucket. The line is a ring
// here: the buckets divide all 2^64 hashes evenly.
func (f Field) distance(n int) uint64 {
	at, _ := bits.Div64(uint64(n), 0, uint64(f.Buckets))
	return at
}

// appendBucket appends the number of a bucket under the name of the suffix field: {bucket: 17}.
func appendBucket(b *bson.Builder, p path.Path, n int64) {
	b.BeginDoc(p.String())
	b.Int("bucket", n)
	b.End()
}
