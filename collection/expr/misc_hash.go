package expr

import (
	"crypto/md5"
	"encoding/binary"
	"hash"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// toHashedIndexKey is $toHashedIndexKey.
func toHashedIndexKey(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	return s.Int64(HashedIndexKey(a[0])), nil
}

// HashedIndexKey returns the hash that MongoDB's hashed indexes store for a value: the first eight bytes
// of the MD5 sum of a canonical form, in which numbers are truncated to integers and types that compare
// equal are the same.
// Manual: reference/operator/aggregation/toHashedIndexKey.
func HashedIndexKey(v bson.Value) int64 {
	if v.IsMissing() {
		v = bson.Null
	}
	h := md5.New()
	h.Write([]byte{0, 0, 0, 0}) // the seed
	hashValue(h, v, nil, false)
	var sum [md5.Size]byte
	return int64(binary.LittleEndian.Uint64(h.Sum(sum[:0])))
}

// hashValue adds a value to the hash of an index key; for a field of a document (named), also the field's name.
func hashValue(h hash.Hash, v bson.Value, name []byte, named bool) {
	var buf [8]byte
	binary.LittleEndian.PutUint32(buf[:], uint32(canonicalType(v.Type)))
	h.Write(buf[:4])
	if named {
		h.Write(name)
		h.Write([]byte{0})
	}
	switch v.Type {
	case bson.TypeDocument, bson.TypeArray:
		hashFields(h, v.Data)
	case bson.TypeCodeScope:
		code, scope, _ := v.CodeScope()
		h.Write([]byte(code))
		h.Write([]byte{0})
		hashFields(h, scope)
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		binary.LittleEndian.PutUint64(buf[:], uint64(hashedNumber(v)))
		h.Write(buf[:])
	default:
		h.Write(v.Data)
	}
}

func hashFields(h hash.Hash, d bson.Raw) {
	for it := d.Iter(); it.Next(); {
		hashValue(h, it.Value, it.Name, true)
	}
	h.Write([]byte{0, 0, 0, 0}) // the end, as a value of type 0
}

// hashedNumber returns a number truncated to an integer, as hashed indexes store it. For the double 2^63 it
// returns the smallest int64: old versions computed that, and hashes must not change.
func hashedNumber(v bson.Value) int64 {
	if f, ok := v.Double(); ok && f == 1<<63 {
		return math.MinInt64
	}
	n, _ := v.TruncInt64()
	return n
}

// canonicalType returns MongoDB's number of the class of a type.
func canonicalType(t bson.Type) int32 {
	switch t {
	case bson.TypeMinKey:
		return -1
	case bson.TypeMaxKey:
		return 127
	case bson.TypeNull:
		return 5
	case bson.TypeDouble, bson.TypeInt32, bson.TypeInt64, bson.TypeDecimal128:
		return 10
	case bson.TypeString, bson.TypeSymbol:
		return 15
	case bson.TypeDocument:
		return 20
	case bson.TypeArray:
		return 25
	case bson.TypeBinary:
		return 30
	case bson.TypeObjectID:
		return 35
	case bson.TypeBool:
		return 40
	case bson.TypeDateTime:
		return 45
	case bson.TypeTimestamp:
		return 47
	case bson.TypeRegex:
		return 50
	case bson.TypeDBPointer:
		return 55
	case bson.TypeCode:
		return 60
	case bson.TypeCodeScope:
		return 65
	}
	return 0
}
