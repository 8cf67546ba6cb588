package bson

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// StringOrder is an order of strings other than that of their bytes: a collation. Implementations are safe for
// concurrent use.
type StringOrder interface {
	// CompareText orders two strings given as bytes without the final zero.
	CompareText(a, b []byte) int
	// AppendKey appends bytes whose order is the order of the strings.
	AppendKey(dst, s []byte) []byte
}

// Compare returns the order of two values of any types, as -1, 0 or 1: by class of types, then by value. o is nil
// for byte order of strings. Missing and undefined sort below null; callers for which a missing field equals null
// (match, sort, index) pass Null instead.
// Manual: reference/bson-type-comparison-order.
func Compare(a, b Value, o StringOrder) int {
	if c := cmp.Compare(classOf[a.Type], classOf[b.Type]); c != 0 {
		return c
	}
	switch a.Type {
	case TypeDouble, TypeInt32, TypeInt64, TypeDecimal128:
		return CompareNumbers(a, b)
	case TypeString, TypeSymbol:
		x, y := a.Data[4:len(a.Data)-1], b.Data[4:len(b.Data)-1]
		if o != nil {
			return o.CompareText(x, y)
		}
		return bytes.Compare(x, y)
	case TypeDocument, TypeArray:
		return compareDocs(a.Data, b.Data, a.Type == TypeDocument, o)
	case TypeBinary:
		if c := cmp.Compare(len(a.Data), len(b.Data)); c != 0 {
			return c
		}
		return bytes.Compare(a.Data[4:], b.Data[4:])
	case TypeDateTime:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a.Data)), int64(binary.LittleEndian.Uint64(b.Data)))
	case TypeTimestamp:
		return cmp.Compare(binary.LittleEndian.Uint64(a.Data), binary.LittleEndian.Uint64(b.Data))
	case TypeDBPointer:
		if c := cmp.Compare(len(a.Data), len(b.Data)); c != 0 {
			return c
		}
		return bytes.Compare(a.Data[4:], b.Data[4:])
	case TypeCode:
		return bytes.Compare(a.Data[4:len(a.Data)-1], b.Data[4:len(b.Data)-1])
	case TypeCodeScope:
		x, s, _ := a.CodeScope()
		y, t, _ := b.CodeScope()
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
		return compareDocs(s, t, true, o)
	}
	// Values of ObjectId, bool and regex are ordered by their bytes; those of the other types have no bytes.
	return bytes.Compare(a.Data, b.Data)
}

// compareDocs compares two documents or arrays element by element: class, then (in documents) name, then value. One
// that is a prefix of the other is less.
func compareDocs(a, b Raw, names bool, o StringOrder) int {
	x, y := a.Iter(), b.Iter()
	for {
		xn, yn := x.Next(), y.Next()
		switch {
		case !xn && !yn:
			return 0
		case !xn:
			return -1
		case !yn:
			return 1
		}
		if c := cmp.Compare(classOf[x.Value.Type], classOf[y.Value.Type]); c != 0 {
			return c
		}
		if names {
			if c := bytes.Compare(x.Name, y.Name); c != 0 {
				return c
			}
		}
		if c := Compare(x.Value, y.Value, o); c != 0 {
			return c
		}
	}
}

// Equal reports whether Compare(a, b, o) is 0.
func Equal(a, b Value, o StringOrder) bool { return Compare(a, b, o) == 0 }
