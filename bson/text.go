package bson

import (
	"fmt"
	"math"
	"strconv"
)

// String prints a value in the notation of MongoDB's messages and of explain:
// doubles with a fraction, ObjectId('…'), new Date(…), { a: 1 }.
func (v Value) String() string {
	switch v.Type {
	case TypeMinKey:
		return "MinKey"
	case TypeMaxKey:
		return "MaxKey"
	case TypeNull:
		return "null"
	case TypeUndefined:
		return "undefined"
	case TypeDouble:
		f, _ := v.Double()
		switch {
		case math.IsInf(f, 1):
			return "inf.0"
		case math.IsInf(f, -1):
			return "-inf.0"
		case f != f:
			return "nan.0"
		case f == math.Trunc(f) && math.Abs(f) < 1e15:
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	case TypeInt32, TypeInt64:
		n, _ := v.Int64()
		return strconv.FormatInt(n, 10)
	case TypeDecimal128:
		d, _ := v.Decimal()
		return d.String()
	case TypeString, TypeSymbol:
		s, _ := v.Str()
		return strconv.Quote(s)
	case TypeBool:
		if v.Truthy() {
			return "true"
		}
		return "false"
	case TypeObjectID:
		id, _ := v.ObjectID()
		return fmt.Sprintf("ObjectId('%x')", id)
	case TypeDateTime:
		ms, _ := v.DateTime()
		return fmt.Sprintf("new Date(%d)", ms)
	case TypeTimestamp:
		t, i, _ := v.Timestamp()
		return fmt.Sprintf("Timestamp(%d, %d)", t, i)
	case TypeRegex:
		p, o, _ := v.Regex()
		return "/" + p + "/" + o
	case TypeDocument:
		d, _ := v.Doc()
		return listText(d, "{", "}", true)
	case TypeArray:
		d, _ := v.Array()
		return listText(d, "[", "]", false)
	case TypeBinary:
		sub, b, _ := v.Binary()
		return fmt.Sprintf("BinData(%d, %X)", sub, b)
	}
	return v.Type.String()
}

func listText(r Raw, open, end string, names bool) string {
	if r.IsEmpty() {
		return open + end
	}
	s := open + " "
	first := true
	for name, v := range r.Fields() {
		if !first {
			s += ", "
		}
		first = false
		if names {
			s += string(name) + ": "
		}
		s += v.String()
	}
	return s + " " + end
}

// String prints a document like a value.
func (r Raw) String() string { return r.Value().String() }
