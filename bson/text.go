package bson

import (
	"math"
	"strconv"
)

// String prints a document in shell notation, as error messages quote it:
// { a: 1, b: "x" }.
func (r Raw) String() string { return string(appendFields(nil, r, '{', '}', true)) }

// String prints a value in shell notation, as error messages and explain quote
// it; doubles always have a fraction. Missing prints nothing.
func (v Value) String() string { return string(AppendText(nil, v)) }

// AppendText appends what Value.String returns.
func AppendText(dst []byte, v Value) []byte {
	switch v.Type {
	case TypeMissing:
		return dst
	case TypeMinKey:
		return append(dst, "MinKey"...)
	case TypeMaxKey:
		return append(dst, "MaxKey"...)
	case TypeNull:
		return append(dst, "null"...)
	case TypeDouble:
		return appendDoubleText(dst, v)
	case TypeInt32, TypeInt64:
		n, _ := v.Int64()
		return strconv.AppendInt(dst, n, 10)
	case TypeDecimal128:
		d, _ := v.Decimal()
		return append(dst, d.String()...)
	case TypeString, TypeSymbol:
		s, _ := v.Text()
		return append(append(append(dst, '"'), s...), '"')
	case TypeBool:
		return strconv.AppendBool(dst, v.Truthy())
	case TypeObjectID:
		return append(appendHex(append(dst, "ObjectId('"...), v.Data, "0123456789abcdef"), "')"...)
	case TypeDateTime:
		ms, _ := v.DateTime()
		return append(strconv.AppendInt(append(dst, "new Date("...), ms, 10), ')')
	case TypeTimestamp:
		t, i, _ := v.Timestamp()
		dst = strconv.AppendUint(append(dst, "Timestamp("...), uint64(t), 10)
		return append(strconv.AppendUint(append(dst, ", "...), uint64(i), 10), ')')
	case TypeRegex:
		p, o, _ := v.Regex()
		return append(append(append(append(dst, '/'), p...), '/'), o...)
	case TypeDocument:
		return appendFields(dst, v.Data, '{', '}', true)
	case TypeArray:
		return appendFields(dst, v.Data, '[', ']', false)
	case TypeBinary:
		sub, b, _ := v.Binary()
		dst = strconv.AppendUint(append(dst, "BinData("...), uint64(sub), 10)
		return append(appendHex(append(dst, ", "...), b, "0123456789ABCDEF"), ')')
	case TypeCode:
		s, _ := v.Code()
		return append(dst, s...)
	case TypeDBPointer:
		ns, id, _ := v.DBPointer()
		dst = append(append(append(dst, `DBRef('`...), ns...), "', "...)
		return append(appendHex(dst, id[:], "0123456789abcdef"), ')')
	case TypeCodeScope:
		code, scope, _ := v.CodeScope()
		dst = append(append(append(dst, "CodeWScope( "...), code...), ", "...)
		return append(appendFields(dst, scope, '{', '}', true), ')')
	}
	return append(dst, v.Type.String()...)
}

func appendDoubleText(dst []byte, v Value) []byte {
	f, _ := v.Double()
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

func appendFields(dst []byte, r Raw, open, end byte, names bool) []byte {
	dst = append(dst, open)
	first := true
	for it := r.Iter(); it.Next(); first = false {
		if !first {
			dst = append(dst, ',')
		}
		dst = append(dst, ' ')
		if names {
			dst = append(append(dst, it.Name...), ": "...)
		}
		dst = AppendText(dst, it.Value)
	}
	if first {
		return append(dst, end)
	}
	return append(dst, ' ', end)
}

func appendHex(dst, b []byte, digits string) []byte {
	for _, c := range b {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}
