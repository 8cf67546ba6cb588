package bson

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// Value is one BSON value: its type and its payload bytes. The zero Value is "missing". Data aliases the memory from
// which the value was read.
type Value struct {
	Type Type
	Data []byte
}

// Constant values without payload.
var (
	// Null is the BSON null.
	Null = Value{Type: TypeNull}
	// MinKey compares below everything.
	MinKey = Value{Type: TypeMinKey}
	// MaxKey compares above everything.
	MaxKey = Value{Type: TypeMaxKey}
	// True and False are the booleans.
	True  = Value{Type: TypeBool, Data: []byte{1}}
	False = Value{Type: TypeBool, Data: []byte{0}}
	// EmptyArray and EmptyDoc have no elements.
	EmptyArray = Value{Type: TypeArray, Data: []byte{5, 0, 0, 0, 0}}
	EmptyDoc   = Value{Type: TypeDocument, Data: []byte{5, 0, 0, 0, 0}}
)

// Bool returns the boolean value b.
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// IsMissing reports whether there is no value.
func (v Value) IsMissing() bool { return v.Type == TypeMissing }

// IsNullish reports whether v is missing, null or undefined.
func (v Value) IsNullish() bool {
	return v.Type == TypeMissing || v.Type == TypeNull || v.Type == TypeUndefined
}

// IsNumber reports whether v is an int32, int64, double or decimal128.
func (v Value) IsNumber() bool { return v.Type.IsNumber() }

// Double returns the payload of a double.
func (v Value) Double() (float64, bool) {
	if v.Type != TypeDouble {
		return 0, false
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(v.Data)), true
}

// Int32 returns the payload of an int32.
func (v Value) Int32() (int32, bool) {
	if v.Type != TypeInt32 {
		return 0, false
	}
	return int32(binary.LittleEndian.Uint32(v.Data)), true
}

// Int64 returns the payload of an int32 or int64.
func (v Value) Int64() (int64, bool) {
	switch v.Type {
	case TypeInt32:
		return int64(int32(binary.LittleEndian.Uint32(v.Data))), true
	case TypeInt64:
		return int64(binary.LittleEndian.Uint64(v.Data)), true
	}
	return 0, false
}

// Decimal returns the 128 bits of a decimal128 in BID form.
func (v Value) Decimal() (d Decimal128, ok bool) {
	if v.Type != TypeDecimal128 {
		return d, false
	}
	return Decimal128{Lo: binary.LittleEndian.Uint64(v.Data), Hi: binary.LittleEndian.Uint64(v.Data[8:])}, true
}

// Boolean returns the payload of a bool.
func (v Value) Boolean() (b, ok bool) {
	if v.Type != TypeBool {
		return false, false
	}
	return v.Data[0] != 0, true
}

// Text returns the bytes of a string or symbol without the trailing zero; the flag is false for other types.
func (v Value) Text() ([]byte, bool) {
	if v.Type != TypeString && v.Type != TypeSymbol {
		return nil, false
	}
	return v.Data[4 : len(v.Data)-1], true
}

// Str returns a string or symbol as a Go string (a copy); the flag is false for other types.
func (v Value) Str() (string, bool) {
	b, ok := v.Text()
	return string(b), ok
}

// Code returns the source of a JavaScript value without scope.
func (v Value) Code() (string, bool) {
	if v.Type != TypeCode {
		return "", false
	}
	return string(v.Data[4 : len(v.Data)-1]), true
}

// CodeScope returns the source text and the scope, a document of variables, of a value of the type JavaScript with
// scope.
func (v Value) CodeScope() (code string, scope Raw, ok bool) {
	if v.Type != TypeCodeScope {
		return "", nil, false
	}
	n := binary.LittleEndian.Uint32(v.Data[4:])
	return string(v.Data[8 : 8+n-1]), Raw(v.Data[8+n:]), true
}

// Doc returns the document of a document value.
func (v Value) Doc() (Raw, bool) {
	if v.Type != TypeDocument {
		return nil, false
	}
	return Raw(v.Data), true
}

// Array returns the body of an array value as a document whose fields are named "0", "1", …
func (v Value) Array() (Raw, bool) {
	if v.Type != TypeArray {
		return nil, false
	}
	return Raw(v.Data), true
}

// Binary returns the subtype and the bytes of a binary value. For the old subtype 2, the bytes include the inner
// length.
func (v Value) Binary() (subtype byte, b []byte, ok bool) {
	if v.Type != TypeBinary {
		return 0, nil, false
	}
	return v.Data[4], v.Data[5:], true
}

// ObjectID returns the twelve bytes of an ObjectId.
func (v Value) ObjectID() (id [12]byte, ok bool) {
	if v.Type != TypeObjectID {
		return id, false
	}
	copy(id[:], v.Data)
	return id, true
}

// DateTime returns a date in milliseconds since the Unix epoch.
func (v Value) DateTime() (ms int64, ok bool) {
	if v.Type != TypeDateTime {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(v.Data)), true
}

// Timestamp returns seconds and increment of a timestamp.
func (v Value) Timestamp() (t, i uint32, ok bool) {
	if v.Type != TypeTimestamp {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint32(v.Data[4:]), binary.LittleEndian.Uint32(v.Data), true
}

// Regex returns pattern and options of a regular expression.
func (v Value) Regex() (pattern, options string, ok bool) {
	if v.Type != TypeRegex {
		return "", "", false
	}
	i := bytes.IndexByte(v.Data, 0)
	return string(v.Data[:i]), string(v.Data[i+1 : len(v.Data)-1]), true
}

// DBPointer returns namespace and id of a DBPointer.
func (v Value) DBPointer() (ns string, id [12]byte, ok bool) {
	if v.Type != TypeDBPointer {
		return "", id, false
	}
	n := binary.LittleEndian.Uint32(v.Data)
	copy(id[:], v.Data[4+n:])
	return string(v.Data[4 : 4+n-1]), id, true
}

// Clone returns the value with a copy of its payload, so that the result aliases no other memory.
func (v Value) Clone() Value {
	v.Data = bytes.Clone(v.Data)
	return v
}

// Identical reports whether two values have the same type and the same bytes. Updates detect by it that nothing has
// changed. It is stricter than Compare.
func (v Value) Identical(w Value) bool { return v.Type == w.Type && bytes.Equal(v.Data, w.Data) }

// Truthy reports whether the value counts as true, in aggregation and for flags of commands: false, zero, null,
// undefined and missing are false, everything else is true.
// Manual: reference/operator/aggregation/toBool (for null: as a condition).
func (v Value) Truthy() bool {
	switch v.Type {
	case TypeMissing, TypeNull, TypeUndefined:
		return false
	case TypeBool:
		return v.Data[0] != 0
	case TypeInt32, TypeInt64:
		n, _ := v.Int64()
		return n != 0
	case TypeDouble:
		f, _ := v.Double()
		return f != 0
	case TypeDecimal128:
		d, _ := v.Decimal()
		return !d.IsZero()
	}
	return true
}

// fixedSizes holds the payload lengths in bytes of the types with a fixed length, -1 for the others.
var fixedSizes = [256]int8{
	TypeMissing: -1, TypeDouble: 8, TypeString: -1, TypeDocument: -1, TypeArray: -1, TypeBinary: -1,
	TypeObjectID: 12, TypeBool: 1, TypeDateTime: 8, TypeRegex: -1, TypeDBPointer: -1, TypeCode: -1,
	TypeSymbol: -1, TypeCodeScope: -1, TypeInt32: 4, TypeTimestamp: 8, TypeInt64: 8, TypeDecimal128: 16,
}

// sizeAt is elementSize, inlined for non-empty types of fixed length.
func sizeAt(t Type, b []byte) int {
	if n := int(fixedSizes[t]); n > 0 && n <= len(b) {
		return n
	}
	return elementSize(t, b)
}

// elementSize returns the length in bytes of the payload of a value of type t that starts at b, or -1 if b is too
// short or malformed. It does not look inside documents.
func elementSize(t Type, b []byte) int {
	n := -1
	switch t {
	case TypeString: // first, as the most frequent one
		if len(b) >= 4 {
			n = int(int32(binary.LittleEndian.Uint32(b))) + 4
			if n < 5 {
				return -1
			}
		}
	case TypeDouble, TypeDateTime, TypeTimestamp, TypeInt64:
		n = 8
	case TypeInt32:
		n = 4
	case TypeObjectID:
		n = 12
	case TypeBool:
		n = 1
	case TypeDecimal128:
		n = 16
	case TypeNull, TypeUndefined, TypeMinKey, TypeMaxKey:
		n = 0
	case TypeCode, TypeSymbol:
		if len(b) >= 4 {
			n = int(int32(binary.LittleEndian.Uint32(b))) + 4
			if n < 5 {
				return -1
			}
		}
	case TypeDocument, TypeArray:
		if len(b) >= 4 {
			n = int(int32(binary.LittleEndian.Uint32(b)))
			if n < 5 {
				return -1
			}
		}
	case TypeCodeScope:
		if len(b) >= 4 {
			n = int(int32(binary.LittleEndian.Uint32(b)))
			if n < 14 {
				return -1
			}
		}
	case TypeBinary:
		if len(b) >= 5 {
			n = int(int32(binary.LittleEndian.Uint32(b)))
			if n < 0 {
				return -1
			}
			n += 5
		}
	case TypeDBPointer:
		if len(b) >= 4 {
			n = int(int32(binary.LittleEndian.Uint32(b)))
			if n < 1 {
				return -1
			}
			n += 16
		}
	case TypeRegex:
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return -1
		}
		j := bytes.IndexByte(b[i+1:], 0)
		if j < 0 {
			return -1
		}
		n = i + j + 2
	}
	if n < 0 || n > len(b) {
		return -1
	}
	return n
}

// sortedOptions returns regex options in alphabetical order, as BSON requires.
func sortedOptions(o string) string {
	if len(o) < 2 {
		return o
	}
	b := []byte(o)
	for i := 1; i < len(b); i++ {
		for j := i; j > 0 && b[j] < b[j-1]; j-- {
			b[j], b[j-1] = b[j-1], b[j]
		}
	}
	return strings.Clone(string(b))
}
