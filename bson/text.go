package bson

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// String returns the value as text in the notation of MongoDB's messages and of explain: doubles with a fraction,
// ObjectId('…'), new Date(…), { a: 1 }.
func (v Value) String() string { return string(v.appendText(nil, math.MaxInt)) }

// Clipped returns the text of String, truncated after about n bytes. Its cost depends on the printed length, not on
// the size of the value.
func (v Value) Clipped(n int) string {
	text := v.appendText(nil, n)
	if len(text) <= n {
		return string(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return string(text[:n]) + "..."
}

// appendText appends the text of a value to dst. It may stop as soon as dst is longer than most bytes.
func (v Value) appendText(dst []byte, most int) []byte {
	switch v.Type {
	case TypeMinKey:
		return append(dst, "MinKey"...)
	case TypeMaxKey:
		return append(dst, "MaxKey"...)
	case TypeNull:
		return append(dst, "null"...)
	case TypeUndefined:
		return append(dst, "undefined"...)
	case TypeDouble:
		f, _ := v.Double()
		return appendDoubleText(dst, f)
	case TypeInt32, TypeInt64:
		n, _ := v.Int64()
		return strconv.AppendInt(dst, n, 10)
	case TypeDecimal128:
		d, _ := v.Decimal()
		return append(dst, d.String()...)
	case TypeString, TypeSymbol:
		s, _ := v.Str()
		return strconv.AppendQuote(dst, s[:min(len(s), most)])
	case TypeBool:
		return strconv.AppendBool(dst, v.Truthy())
	case TypeObjectID:
		id, _ := v.ObjectID()
		return fmt.Appendf(dst, "ObjectId('%x')", id)
	case TypeDateTime:
		ms, _ := v.DateTime()
		return fmt.Appendf(dst, "new Date(%d)", ms)
	case TypeTimestamp:
		t, i, _ := v.Timestamp()
		return fmt.Appendf(dst, "Timestamp(%d, %d)", t, i)
	case TypeRegex:
		p, o, _ := v.Regex()
		return append(append(append(append(dst, '/'), p...), '/'), o...)
	case TypeDocument:
		d, _ := v.Doc()
		return appendListText(dst, d, '{', '}', most)
	case TypeArray:
		d, _ := v.Array()
		return appendListText(dst, d, '[', ']', most)
	case TypeBinary:
		sub, b, _ := v.Binary()
		return fmt.Appendf(dst, "BinData(%d, %X)", sub, b[:min(len(b), most)])
	}
	return append(dst, v.Type.String()...)
}

func appendDoubleText(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "inf.0"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf.0"...)
	case f != f:
		return append(dst, "nan.0"...)
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return strconv.AppendFloat(dst, f, 'f', 1, 64)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// appendListText appends the text of a document's members, with their names, or of an array's, between open and end.
func appendListText(dst []byte, r Raw, open, end byte, most int) []byte {
	dst = append(dst, open)
	if r.IsEmpty() {
		return append(dst, end)
	}
	dst = append(dst, ' ')
	first := true
	for name, v := range r.Fields() {
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		if open == '{' {
			dst = append(append(dst, name...), ": "...)
		}
		if dst = v.appendText(dst, most); len(dst) > most {
			return dst
		}
	}
	return append(dst, ' ', end)
}

// String prints a document like a value.
func (r Raw) String() string { return r.Value().String() }

// Clipped is String, truncated after about n bytes.
func (r Raw) Clipped(n int) string { return r.Value().Clipped(n) }

// UUIDText returns a UUID in hexadecimal digits with hyphens.
func UUIDText(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
