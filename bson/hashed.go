package bson

import (
	"crypto/md5"
	"encoding/binary"
	"math"
)

// HashedKey returns the value that a hashed index stores for v and that $toHashedIndexKey returns: the
// first eight bytes of an MD5 over the class and the payload of the value, numbers truncated to 64-bit
// integers first. Missing hashes as null.
// Manual: core/indexes/index-types/index-hashed, reference/operator/aggregation/toHashedIndexKey.
func HashedKey(v Value) int64 {
	var small [128]byte
	b := appendHashed(append(small[:0], 0, 0, 0, 0), v, nil, false) // the first four bytes are a seed
	sum := md5.Sum(b)
	return int64(binary.LittleEndian.Uint64(sum[:]))
}

// appendHashed appends the bytes of one value that are hashed.
func appendHashed(dst []byte, v Value, name []byte, named bool) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(hashClass[v.Type]))
	if named {
		dst = append(append(dst, name...), 0)
	}
	switch v.Type {
	case TypeDouble, TypeInt32, TypeInt64, TypeDecimal128:
		n, _ := v.TruncInt64()
		return binary.LittleEndian.AppendUint64(dst, uint64(n))
	case TypeDocument, TypeArray:
		return appendHashedFields(dst, v.Data)
	case TypeCodeScope:
		n := binary.LittleEndian.Uint32(v.Data[4:])
		return appendHashedFields(append(dst, v.Data[8:8+n]...), Raw(v.Data[8+n:]))
	case TypeMissing, TypeUndefined, TypeNull:
		return dst
	}
	return append(dst, v.Data...)
}

func appendHashedFields(dst []byte, r Raw) []byte {
	for it := r.Iter(); it.Next(); {
		dst = appendHashed(dst, it.Value, it.Name, true)
	}
	return append(dst, 0, 0, 0, 0, 0) // class and empty name of the end
}

// hashClass numbers the classes of types in the input of a hash. The numbers differ from those of Type.Class,
// because the hashes must equal those of MongoDB servers.
var hashClass = [256]int32{
	TypeMinKey: -1, TypeMaxKey: math.MaxInt8, TypeMissing: 5, TypeUndefined: 0, TypeNull: 5,
	TypeDouble: 10, TypeInt32: 10, TypeInt64: 10, TypeDecimal128: 10, TypeString: 15, TypeSymbol: 15,
	TypeDocument: 20, TypeArray: 25, TypeBinary: 30, TypeObjectID: 35, TypeBool: 40, TypeDateTime: 45,
	TypeTimestamp: 47, TypeRegex: 50, TypeDBPointer: 55, TypeCode: 60, TypeCodeScope: 65,
}
