package shard

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Kind determines how positions are computed.
type Kind uint8

// The kinds of shard keys. All but Ranged have positions of eight bytes, a hash; positions of Ranged are a hash of
// zero and the keystrings of the values.
const (
	Unsharded    Kind = iota // no key: everything at position zero
	Hashed                   // {a: "hashed"}, which may have a suffix
	Hierarchical             // {a: "hashed", b: "hashed"}, up to three fields and a suffix
	Ranged                   // {a: 1, b: 1}, one of the fields may be hashed
)

// String returns the kind's name in stored maps and in explain.
func (k Kind) String() string {
	return [...]string{"unsharded", "hashed", "hierarchical", "ranged"}[min(k, Ranged)]
}

// Field is one field of a shard key.
type Field struct {
	Path   path.Path
	Hashed bool
	// Buckets is the number of buckets of a suffix: of its value only the hash counts, modulo Buckets. 0 for other
	// fields.
	Buckets int
}

// KeyPattern is a parsed shard key with the hash seed of its collection. The zero KeyPattern belongs to an unsharded
// collection. Immutable, safe for concurrent use, cheap to copy.
type KeyPattern struct {
	p    *pattern
	seed uint64
}

// pattern is the part that copies of a KeyPattern share.
type pattern struct {
	kind    Kind
	fields  []Field
	levels  int // of fields, those before a suffix
	spec    bson.Raw
	scratch sync.Pool // *[]byte for the bytes to be hashed
}

// Shared reports whether documents of different shard keys may have the same position: the values of a suffix share
// buckets, and the levels of a hierarchy share 64 bits. Otherwise a position identifies its key, unless 64-bit hashes
// collide.
func (k KeyPattern) Shared() bool {
	_, suffix := k.suffix()
	return suffix || k.Kind() == Hierarchical
}

// IsZero reports whether the collection is unsharded.
func (k KeyPattern) IsZero() bool { return k.p == nil }

// Kind returns how positions are computed.
func (k KeyPattern) Kind() Kind {
	if k.p == nil {
		return Unsharded
	}
	return k.p.kind
}

// Fields returns the fields of the shard key, in order. The caller must not change them.
func (k KeyPattern) Fields() []Field {
	if k.p == nil {
		return nil
	}
	return k.p.fields
}

// Spec returns the shard key as the client gave it, {a: "hashed"}; nil for an unsharded collection. The caller must
// not change it.
func (k KeyPattern) Spec() bson.Raw {
	if k.p == nil {
		return nil
	}
	return k.p.spec
}

// WithSeed returns the shard key with the collection's own random seed of hashes, so that clients cannot prepare
// values that collide. The seed is stored with the collection and never changes.
func (k KeyPattern) WithSeed(seed uint64) KeyPattern { return KeyPattern{k.p, seed} }

// Seed returns the collection's seed.
func (k KeyPattern) Seed() uint64 { return k.seed }

// IsID reports whether the key is exactly the field _id.
func (k KeyPattern) IsID() bool {
	return k.p != nil && len(k.p.fields) == 1 && k.p.fields[0].Path.String() == "_id"
}

// Hash returns the hash with which a document's position begins; HashMin for an unsharded collection and under a
// ranged shard key. A missing field counts as null.
// Errors: ShardKeyNotFound if a field of the key holds or crosses an array.
func (k KeyPattern) Hash(doc bson.Raw) (keyspace.Hash, error) {
	if k.p == nil {
		return keyspace.HashMin, nil
	}
	var h keyspace.Hash
	var last uint64 // of the levels, which a suffix moves
	for i, f := range k.p.fields {
		v, array := get(doc, f.Path)
		switch {
		case array:
			return 0, ArrayInKey()
		case k.p.kind == Ranged:
		case f.Buckets > 0:
			last += f.distance(k.bucket(f, v))
		case i == k.p.levels-1:
			last = k.hash(v)
		default:
			h |= k.level(i, k.hash(v))
		}
	}
	if k.p.kind != Ranged {
		h |= k.level(k.p.levels-1, last)
	}
	return h, nil
}

// HashValue returns the hash in the positions of all documents with this value of the shard key's single hashed
// field. An equality is routed by it.
func (k KeyPattern) HashValue(v bson.Value) keyspace.Hash { return keyspace.Hash(k.hash(v)) }

// AppendPosition appends to dst the position of a document under any shard key; eight zero bytes without one.
// Errors: ShardKeyNotFound if a field of the key holds or crosses an array.
func (k KeyPattern) AppendPosition(dst []byte, doc bson.Raw) ([]byte, error) {
	h, err := k.Hash(doc)
	if err != nil {
		return dst, err
	}
	return k.AppendTail(h.Append(dst), doc), nil
}

// AppendTail appends the part of a document's position after the hash: the keystrings of a ranged shard key's
// values, nothing under other keys. The caller has called Hash without an error.
func (k KeyPattern) AppendTail(dst []byte, doc bson.Raw) []byte {
	for _, f := range k.tail() {
		v, _ := get(doc, f.Path)
		dst = k.appendField(dst, f, v)
	}
	return dst
}

// Next returns the first position after p and all positions that begin with it; nil at the end of the line. A split
// there leaves the documents of p's shard key together.
func (k KeyPattern) Next(p Position) Position {
	return keyspace.PrefixEnd(bytes.Clone(p))
}

// TailParts returns the number of keystrings after the hash of a position: one for each field of a ranged shard key,
// else 0.
func (k KeyPattern) TailParts() int { return len(k.tail()) }

// tail returns the fields whose values follow the hash.
func (k KeyPattern) tail() []Field {
	if k.Kind() != Ranged {
		return nil
	}
	return k.p.fields
}

// EqualRanges returns the ranges of positions that contain all documents whose leading shard key fields have the
// given values: one range, or one for each bucket if only the value of a suffix is not given, in no particular order.
// Without values, or without a shard key, it is the whole line.
func (k KeyPattern) EqualRanges(values ...bson.Value) []Range {
	switch {
	case k.p == nil || len(values) == 0:
		return []Range{{}}
	case k.p.kind == Ranged:
		lo := k.Prefix(values...)
		return []Range{{Lo: lo, Hi: keyspace.PrefixEnd(bytes.Clone(lo))}}
	case len(values) < k.p.levels:
		lo, hi := k.span(values)
		return []Range{HashRange(lo, hi)}
	}
	hs := k.AppendHashes(nil, values...)
	out := make([]Range, len(hs))
	for i, h := range hs {
		out[i] = HashRange(h, h)
	}
	return out
}

// Prefix returns the bytes with which the positions of all documents begin whose leading fields of a ranged shard
// key have the given values.
func (k KeyPattern) Prefix(values ...bson.Value) Position {
	p := HashPosition(keyspace.HashMin)
	for i, v := range values[:min(len(values), len(k.p.fields))] {
		p = k.appendField(p, k.p.fields[i], v)
	}
	return p
}

// AppendHashes appends to dst the hashes in the positions of all documents whose hashed shard key has the given
// values, at least one for each level: one hash, or one for each bucket if the value of a suffix is not given, in no
// particular order.
func (k KeyPattern) AppendHashes(dst []keyspace.Hash, values ...bson.Value) []keyspace.Hash {
	last := k.p.levels - 1
	h, _ := k.span(values[:last])
	x := k.hash(values[last])
	f, ok := k.suffix()
	switch {
	case !ok:
		return append(dst, h|k.level(last, x))
	case len(values) > k.p.levels:
		return append(dst, h|k.level(last, x+f.distance(k.bucket(f, values[last+1]))))
	}
	for n := range f.Buckets {
		dst = append(dst, h|k.level(last, x+f.distance(n)))
	}
	return dst
}

// span returns the first and the last hash of documents whose leading levels (hashed fields of the shard key without
// a suffix) have the given values.
func (k KeyPattern) span(values []bson.Value) (lo, hi keyspace.Hash) {
	for i, v := range values {
		lo |= k.level(i, k.hash(v))
	}
	hi = lo
	for i := len(values); i < k.p.levels; i++ {
		hi |= k.level(i, ^uint64(0))
	}
	return lo, hi
}

// Missing returns the first field of the shard key that a document does not have; missing is false if it has all.
// Callers that reject such documents use it.
func (k KeyPattern) Missing(doc bson.Raw) (path string, missing bool) {
	for _, f := range k.Fields() {
		if v, array := get(doc, f.Path); v.IsMissing() && !array {
			return f.Path.String(), true
		}
	}
	return "", false
}

// Array returns the first field of the shard key that holds or crosses an array in a document; found is false if
// none does.
func (k KeyPattern) Array(doc bson.Raw) (path string, found bool) {
	for _, f := range k.Fields() {
		if _, array := get(doc, f.Path); array {
			return f.Path.String(), true
		}
	}
	return "", false
}

// AppendValues appends a document's values of the shard key's fields under their dotted names, null for missing ones
// and arrays. Error messages show them. A suffix is {bucket: n}.
func (k KeyPattern) AppendValues(b *bson.Builder, doc bson.Raw) {
	for _, f := range k.Fields() {
		v, _ := get(doc, f.Path)
		if f.Buckets > 0 {
			appendBucket(b, f.Path, int64(k.bucket(f, v)))
		} else {
			b.Value(f.Path.String(), orNull(v))
		}
	}
}

// AppendDocumentKey appends the fields by which change events identify a document (documentKey): its shard key, with
// the original value of a suffix, and _id.
func (k KeyPattern) AppendDocumentKey(b *bson.Builder, doc bson.Raw) {
	named := false
	for _, f := range k.Fields() {
		v, _ := get(doc, f.Path)
		b.Value(f.Path.String(), orNull(v))
		named = named || f.Path.String() == "_id"
	}
	if !named {
		b.Value("_id", doc.Get("_id"))
	}
}

// AppendLogical appends to dst bytes that identify the logical partition of a document: equal for documents with
// equal shard keys, where values of a suffix in the same bucket count as equal.
func (k KeyPattern) AppendLogical(dst []byte, doc bson.Raw) []byte {
	return k.AppendPrefix(dst, doc, len(k.Fields()))
}

// AppendPrefix is AppendLogical for the first fields of the shard key.
func (k KeyPattern) AppendPrefix(dst []byte, doc bson.Raw, fields int) []byte {
	for _, f := range k.Fields()[:fields] {
		v, _ := get(doc, f.Path)
		dst = k.appendLogicalField(dst, f, v)
	}
	return dst
}

// AppendLogicalOf is AppendLogical for a value of each field, or of the first fields, as AppendPrefix.
func (k KeyPattern) AppendLogicalOf(dst []byte, values []bson.Value) []byte {
	for i, f := range k.Fields()[:len(values)] {
		dst = k.appendLogicalField(dst, f, values[i])
	}
	return dst
}

func (k KeyPattern) appendLogicalField(dst []byte, f Field, v bson.Value) []byte {
	if f.Buckets > 0 {
		return appendInt(dst, int64(k.bucket(f, v)))
	}
	return keystring.Append(dst, orNull(v), keystring.Ascending, nil, nil)
}

// LogicalValues decodes bytes that AppendLogical made to a document of the shard key's fields; a suffix is {bucket:
// n}.
// Errors: for bytes that are truncated or not such a key.
func (k KeyPattern) LogicalValues(logical []byte) (bson.Raw, error) {
	dirs := make([]keystring.Dir, len(k.Fields()))
	for i := range dirs {
		dirs[i] = keystring.Ascending
	}
	values := bson.NewArrayBuilder(nil)
	if _, err := keystring.Decode(values, logical, dirs, nil); err != nil {
		return nil, err
	}
	list, b := values.Doc(), bson.NewBuilder(nil)
	for i, f := range k.Fields() {
		v, _ := list.Index(i)
		if n, ok := v.AsInt64(); ok && f.Buckets > 0 {
			appendBucket(b, f.Path, n)
		} else {
			b.Value(f.Path.String(), v)
		}
	}
	return b.Doc(), nil
}

// Changed returns the first field in which the shard keys of two versions of a document differ. If one does, the
// update moves the document to another position. Values of a suffix that share a bucket do not differ.
func (k KeyPattern) Changed(a, b bson.Raw) (path string, changed bool) {
	for _, f := range k.Fields() {
		v, _ := get(a, f.Path)
		w, _ := get(b, f.Path)
		if v.Identical(w) || bson.Equal(orNull(v), orNull(w), nil) || f.Buckets > 0 && k.bucket(f, v) == k.bucket(f, w) {
			continue
		}
		return f.Path.String(), true
	}
	return "", false
}

// IsPrefixOf reports whether the key pattern of an index begins with the fields of the shard key, as numbers. Only
// then can the index be unique, because documents with equal values are in the same shard. Manual:
// core/sharding-shard-key#unique-indexes.
func (k KeyPattern) IsPrefixOf(index bson.Raw) bool {
	it := index.Iter()
	for _, f := range k.Fields() {
		if !it.Next() || string(it.Name) != f.Path.String() || !it.Value.IsNumber() {
			return false
		}
	}
	return true
}

// ArrayInKey returns the error for a document in which a field of the shard key holds or crosses an array.
func ArrayInKey() *mongoerr.Error {
	return mongoerr.New(mongoerr.ShardKeyNotFound, "Shard key cannot contain array values or array descendants.")
}

// MissingKey returns the error for a document without a shard key field, in collections where a missing field does
// not count as null. Observed: Cosmos DB.
func MissingKey(path string) *mongoerr.Error {
	return mongoerr.New(mongoerr.ShardKeyNotFound, "The document does not contain shard key at '%s'", path)
}

// appendField appends the value of one field to a position of a ranged shard key. A hashed field is represented by
// its hash, an int64.
func (k KeyPattern) appendField(dst []byte, f Field, v bson.Value) []byte {
	if v.IsNullish() {
		v = bson.Null
	}
	if f.Hashed {
		return appendHash(dst, k.hash(v))
	}
	return keystring.Append(dst, v, keystring.Ascending, nil, nil)
}

// appendHash appends a hash to a position of a ranged shard key, as the signed number that bounds show; the numbers
// have the order of the hashes.
func appendHash(dst []byte, h uint64) []byte { return appendInt(dst, int64(h^signBit)) }

// appendInt appends the keystring of a number.
func appendInt(dst []byte, n int64) []byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	return keystring.Append(dst, bson.Value{Type: bson.TypeInt64, Data: b[:]}, keystring.Ascending, nil, nil)
}

// hashedPrefix returns the bytes with which the positions of a ranged shard key begin whose first field is hashed
// and has the hash h.
func hashedPrefix(h keyspace.Hash) Position {
	return appendHash(HashPosition(keyspace.HashMin), uint64(h))
}

// hash returns xxhash64 of the seed and the keystring of v, without the type bits, so that 1, 1.0 and NumberLong(1)
// have the same hash. Missing and undefined hash as null, because filters for null may match them.
func (k KeyPattern) hash(v bson.Value) uint64 {
	if v.IsNullish() {
		v = bson.Null
	}
	buf, _ := k.p.scratch.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	b := binary.LittleEndian.AppendUint64((*buf)[:0], k.seed)
	b = keystring.Append(b, v, keystring.Ascending, nil, nil)
	h := xxhash.Sum64(b)
	if cap(b) <= scratchMax {
		*buf = b
		k.p.scratch.Put(buf)
	}
	return h
}

// scratchMax is the size in bytes of the largest buffer that is kept for the next hash; a key value may have
// megabytes.
const scratchMax = 64 << 10

// level returns those bits of h, the hash of the i-th hashed field, that go into a position, at their place: 64 bits
// of one field; 32 and 32 of two; 32, 16 and 16 of three.
func (k KeyPattern) level(i int, h uint64) keyspace.Hash {
	switch n := k.p.levels; {
	case n == 1:
		return keyspace.Hash(h)
	case i == 0:
		return keyspace.Hash(h >> 32 << 32)
	case n == 2:
		return keyspace.Hash(h >> 32)
	case i == 1:
		return keyspace.Hash(h >> 48 << 16)
	}
	return keyspace.Hash(h >> 48)
}

// get returns the value of the shard key field p in a document; array is true if its path or its value contains an
// array.
func get(doc bson.Raw, p path.Path) (v bson.Value, array bool) {
	for i := range p.Len() {
		v = doc.Get(p.Name(i))
		if v.Type == bson.TypeArray {
			return bson.Value{}, true
		}
		if i == p.Len()-1 {
			break
		}
		var ok bool
		if doc, ok = v.Doc(); !ok {
			return bson.Value{}, false
		}
	}
	return v, false
}

func orNull(v bson.Value) bson.Value {
	if v.IsMissing() {
		return bson.Null
	}
	return v
}
