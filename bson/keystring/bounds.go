package keystring

// MinBound and MaxBound are bytes below and above every encoded value in either direction. A range over all keys
// that begin with the complete values k is [k, append(k, MaxBound)).
const (
	MinBound = 0x00
	MaxBound = 0xFF
)

// ClassBounds returns the first bytes of the encoded values of a class (see bson.Type.Class) as a half-open range
// [lo, hi): every key of the class begins with a byte in the range, and no other key does. For class 0 and for
// unknown classes, it returns the range of all values. Undefined (class 2) has its own range below null (class 3),
// and missing values are encoded as null.
func ClassBounds(class int, dir Dir) (lo, hi byte) {
	lo, hi = tMinKey, tMaxKey+1
	if class > 0 && class < len(classBounds) {
		lo, hi = classBounds[class][0], classBounds[class][1]
	}
	if dir == Descending {
		return ^(hi - 1), ^lo + 1
	}
	return lo, hi
}

var classBounds = [...][2]byte{
	1: {tMinKey, tMinKey + 1}, 2: {tUndefined, tUndefined + 1}, 3: {tNull, tNull + 1},
	4: {tNaN, tPositive + 1}, 5: {tString, tString + 1}, 6: {tObject, tObject + 1}, 7: {tArray, tArray + 1},
	8: {tBinary, tBinary + 1}, 9: {tObjectID, tObjectID + 1}, 10: {tFalse, tTrue + 1}, 11: {tDate, tDate + 1},
	12: {tTimestamp, tTimestamp + 1}, 13: {tRegex, tRegex + 1}, 14: {tDBPointer, tDBPointer + 1},
	15: {tCode, tCode + 1}, 16: {tCodeScope, tCodeScope + 1}, 17: {tMaxKey, tMaxKey + 1},
}

// NullByte returns the only byte of the encoding of null and missing values, in the direction dir.
func NullByte(dir Dir) byte {
	return directed(tNull, dir)
}

// IsUndefined reports whether an encoding in the direction dir that begins with the byte b is that of undefined.
func IsUndefined(b byte, dir Dir) bool { return b == directed(tUndefined, dir) }

// IsArray reports whether an encoding in the direction dir that begins with the byte b is that of an array.
func IsArray(b byte, dir Dir) bool { return b == directed(tArray, dir) }

func directed(b byte, dir Dir) byte {
	if dir == Descending {
		return b ^ 0xFF
	}
	return b
}
