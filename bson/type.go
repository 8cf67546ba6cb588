package bson

import "strconv"

// Type is the tag byte of a BSON element.
type Type byte

// The BSON element types. Source: bsonspec.org; Manual: reference/bson-types.
const (
	// TypeMissing marks the absence of a value, such as that of a field; it never occurs in a document.
	TypeMissing    Type = 0x00
	TypeDouble     Type = 0x01
	TypeString     Type = 0x02
	TypeDocument   Type = 0x03
	TypeArray      Type = 0x04
	TypeBinary     Type = 0x05
	TypeUndefined  Type = 0x06
	TypeObjectID   Type = 0x07
	TypeBool       Type = 0x08
	TypeDateTime   Type = 0x09
	TypeNull       Type = 0x0A
	TypeRegex      Type = 0x0B
	TypeDBPointer  Type = 0x0C
	TypeCode       Type = 0x0D
	TypeSymbol     Type = 0x0E
	TypeCodeScope  Type = 0x0F
	TypeInt32      Type = 0x10
	TypeTimestamp  Type = 0x11
	TypeInt64      Type = 0x12
	TypeDecimal128 Type = 0x13
	TypeMinKey     Type = 0xFF
	TypeMaxKey     Type = 0x7F
)

// String returns the name of the type that $type and error messages use ("double", "objectId").
// Manual: reference/operator/query/type.
func (t Type) String() string {
	switch t {
	case TypeMissing:
		return "missing"
	case TypeDouble:
		return "double"
	case TypeString:
		return "string"
	case TypeDocument:
		return "object"
	case TypeArray:
		return "array"
	case TypeBinary:
		return "binData"
	case TypeUndefined:
		return "undefined"
	case TypeObjectID:
		return "objectId"
	case TypeBool:
		return "bool"
	case TypeDateTime:
		return "date"
	case TypeNull:
		return "null"
	case TypeRegex:
		return "regex"
	case TypeDBPointer:
		return "dbPointer"
	case TypeCode:
		return "javascript"
	case TypeSymbol:
		return "symbol"
	case TypeCodeScope:
		return "javascriptWithScope"
	case TypeInt32:
		return "int"
	case TypeTimestamp:
		return "timestamp"
	case TypeInt64:
		return "long"
	case TypeDecimal128:
		return "decimal"
	case TypeMinKey:
		return "minKey"
	case TypeMaxKey:
		return "maxKey"
	}
	return "unknown type " + strconv.Itoa(int(t))
}

// TypeByAlias returns the type that Type.String names so. It does not accept "number", which denotes several types.
func TypeByAlias(alias string) (Type, bool) {
	for _, t := range allTypes {
		if t.String() == alias {
			return t, true
		}
	}
	return TypeMissing, false
}

var allTypes = [...]Type{
	TypeDouble, TypeString, TypeDocument, TypeArray, TypeBinary, TypeUndefined, TypeObjectID, TypeBool,
	TypeDateTime, TypeNull, TypeRegex, TypeDBPointer, TypeCode, TypeSymbol, TypeCodeScope, TypeInt32,
	TypeTimestamp, TypeInt64, TypeDecimal128, TypeMinKey, TypeMaxKey,
}

// HoldsText reports whether values of the type are strings or can contain some, so that their order depends on a
// collation.
func (t Type) HoldsText() bool {
	return t == TypeString || t == TypeSymbol || t == TypeDocument || t == TypeArray || t == TypeCodeScope
}

// Valid reports whether t may occur in a document.
func (t Type) Valid() bool {
	return t >= TypeDouble && t <= TypeDecimal128 || t == TypeMinKey || t == TypeMaxKey
}

// IsNumber reports whether t is int32, int64, double or decimal128.
func (t Type) IsNumber() bool {
	return t == TypeInt32 || t == TypeDouble || t == TypeInt64 || t == TypeDecimal128
}

// Class returns the rank of the type in the comparison order; types of one class compare by value. Missing and
// undefined share a rank, just below null. Sorts and indexes, for which a missing value equals null, use the rank of
// null instead.
// Manual: reference/bson-type-comparison-order.
func (t Type) Class() int { return int(classOf[t]) }

var classOf = [256]uint8{
	TypeMinKey: 1, TypeMissing: 2, TypeUndefined: 2, TypeNull: 3,
	TypeDouble: 4, TypeInt32: 4, TypeInt64: 4, TypeDecimal128: 4,
	TypeString: 5, TypeSymbol: 5, TypeDocument: 6, TypeArray: 7, TypeBinary: 8,
	TypeObjectID: 9, TypeBool: 10, TypeDateTime: 11, TypeTimestamp: 12,
	TypeRegex: 13, TypeDBPointer: 14, TypeCode: 15, TypeCodeScope: 16, TypeMaxKey: 17,
}
