package keystring

import (
	"bytes"
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
)

// Dir is the direction of one field of a key.
type Dir int8

// The directions, with the numbers of an index or sort pattern.
const (
	Ascending  Dir = 1
	Descending Dir = -1
)

// The type bytes of encoded values. All are between 05 and F0 (0F and FA inverted), so that 00, 01 and FF are free
// for ends and bounds.
const (
	tMinKey    = 0x05
	tUndefined = 0x08
	tNull      = 0x0A
	tNaN       = 0x10 // also the class byte of all numbers
	tNegative  = 0x11
	tZero      = 0x12
	tPositive  = 0x13
	tString    = 0x20
	tObject    = 0x28
	tArray     = 0x30
	tBinary    = 0x38
	tObjectID  = 0x40
	tFalse     = 0x48 // also the class byte of booleans
	tTrue      = 0x49
	tDate      = 0x50
	tTimestamp = 0x58
	tRegex     = 0x60
	tDBPointer = 0x68
	tCode      = 0x70
	tCodeScope = 0x78
	tMaxKey    = 0xF0
)

// classByte holds the byte that an encoded object has before the name of each field: objects compare by class, then
// name, then value.
var classByte = [256]byte{
	bson.TypeMinKey: tMinKey, bson.TypeUndefined: tUndefined, bson.TypeNull: tNull, bson.TypeMissing: tNull,
	bson.TypeDouble: tNaN, bson.TypeInt32: tNaN, bson.TypeInt64: tNaN, bson.TypeDecimal128: tNaN,
	bson.TypeString: tString, bson.TypeSymbol: tString, bson.TypeDocument: tObject, bson.TypeArray: tArray,
	bson.TypeBinary: tBinary, bson.TypeObjectID: tObjectID, bson.TypeBool: tFalse, bson.TypeDateTime: tDate,
	bson.TypeTimestamp: tTimestamp, bson.TypeRegex: tRegex, bson.TypeDBPointer: tDBPointer,
	bson.TypeCode: tCode, bson.TypeCodeScope: tCodeScope, bson.TypeMaxKey: tMaxKey,
}

// Append appends to dst the encoding of v in the direction dir. A missing value is encoded as null. With an order,
// strings are encoded by its sort keys instead of their bytes. Unless tb is nil, it collects the information that
// Decode needs in addition to the encoding.
func Append(dst []byte, v bson.Value, dir Dir, order bson.StringOrder, tb *TypeBits) []byte {
	start := len(dst)
	dst = appendValue(dst, v, order, tb)
	if dir == Descending {
		invert(dst[start:])
	}
	return dst
}

func appendValue(dst []byte, v bson.Value, order bson.StringOrder, tb *TypeBits) []byte {
	if tb != nil {
		tb.ordinal++
	}
	b := v.Data
	switch v.Type {
	case bson.TypeInt32:
		n := int64(int32(binary.LittleEndian.Uint32(b)))
		return appendInt(dst, n, nil)
	case bson.TypeObjectID:
		dst = append(dst, tObjectID)
		return append(dst, b...)
	case bson.TypeString:
		return appendText(dst, b[4:len(b)-1], bson.TypeString, order, tb)
	case bson.TypeDouble:
		return appendDouble(dst, v, tb)
	case bson.TypeInt64:
		return appendInt(dst, int64(binary.LittleEndian.Uint64(b)), tb)
	case bson.TypeDecimal128:
		return appendDecimal(dst, v, tb)
	case bson.TypeSymbol:
		return appendText(dst, b[4:len(b)-1], bson.TypeSymbol, order, tb)
	case bson.TypeDocument:
		return appendObject(append(dst, tObject), b, order, tb)
	case bson.TypeArray:
		dst = append(dst, tArray)
		for it := bson.Raw(b).Iter(); it.Next(); {
			dst = appendValue(dst, it.Value, order, tb)
		}
		return append(dst, 0)
	case bson.TypeBool:
		if b[0] != 0 {
			return append(dst, tTrue)
		}
		return append(dst, tFalse)
	case bson.TypeDateTime:
		dst = append(dst, tDate)
		return binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(b)^1<<63)
	case bson.TypeTimestamp:
		dst = append(dst, tTimestamp)
		return binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(b))
	case bson.TypeBinary:
		dst = append(dst, tBinary)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)-5))
		return append(dst, b[4:]...)
	case bson.TypeMissing:
		tb.add(codeMissing)
		return append(dst, tNull)
	case bson.TypeRegex:
		return append(append(dst, tRegex), b...)
	case bson.TypeDBPointer:
		dst = append(dst, tDBPointer)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)-4))
		return append(dst, b[4:]...)
	case bson.TypeCode:
		return appendEscaped(append(dst, tCode), b[4:len(b)-1])
	case bson.TypeCodeScope:
		n := binary.LittleEndian.Uint32(b[4:])
		dst = appendEscaped(append(dst, tCodeScope), b[8:8+n-1])
		return appendObject(dst, b[8+n:], order, tb)
	}
	return append(dst, classByte[v.Type]) // null, undefined, MinKey, MaxKey
}

func appendObject(dst []byte, doc bson.Raw, order bson.StringOrder, tb *TypeBits) []byte {
	for it := doc.Iter(); it.Next(); {
		dst = append(dst, classByte[it.Value.Type])
		dst = append(dst, it.Name...)
		dst = append(dst, 0)
		dst = appendValue(dst, it.Value, order, tb)
	}
	return append(dst, 0)
}

func appendText(dst, s []byte, t bson.Type, order bson.StringOrder, tb *TypeBits) []byte {
	if tb != nil && (t == bson.TypeSymbol || order != nil) {
		tb.addText(t, s, order != nil)
	}
	dst = append(dst, tString)
	if order == nil {
		return appendEscaped(dst, s)
	}
	start := len(dst)
	return escapeInPlace(order.AppendKey(dst, s), start)
}

// escapeInPlace escapes the bytes of dst from start on, and ends them, as appendEscaped does.
func escapeInPlace(dst []byte, start int) []byte {
	zeros := bytes.Count(dst[start:], []byte{0})
	from := len(dst) - 1
	for range zeros {
		dst = append(dst, 0)
	}
	for to := len(dst) - 1; to > from; to, from = to-1, from-1 {
		if dst[from] == 0 {
			dst[to] = 0xFF
			to--
		}
		dst[to] = dst[from]
	}
	return append(dst, 0, 1)
}

// appendEscaped appends the text s with each byte 00 as 00 FF, and then the end 00 01, so that a text is less than
// its continuations.
func appendEscaped(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, 0)
		if i < 0 {
			dst = append(dst, s...)
			return append(dst, 0, 1)
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, 0, 0xFF)
		s = s[i+1:]
	}
}

func invert(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, ^binary.LittleEndian.Uint64(b))
	}
	for i := range b {
		b[i] = ^b[i]
	}
}
