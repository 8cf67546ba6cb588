package expr

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
)

// numberText returns the text of a string that is converted to a number, after the checks that all numeric
// types have in common.
func numberText(v bson.Value) (text string, err error) {
	text, _ = v.Str()
	switch {
	case strings.HasPrefix(text, "0x"):
		return text, failed("Illegal hexadecimal input: %s", show(v))
	case text == "":
		return text, failed("Failed to parse number '' : No digits")
	case strings.IndexByte(text, '_') >= 0:
		return text, failed("Failed to parse number %s", show(v))
	}
	return text, nil
}

// parseDouble parses a double in the syntax of C's strtod: decimal text, or hexadecimal digits with or without
// an exponent.
func parseDouble(text string) (f float64, ok bool) {
	body := strings.TrimLeft(text, "+-")
	hex := len(body) > 1 && body[0] == '0' && body[1]|32 == 'x'
	if hex && !strings.ContainsAny(body, "pP") {
		text += "p0"
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	if f == 0 { // an underflow is an error, unless all digits are zero
		if !hex && hasDigits(body) {
			return 0, false
		}
	}
	return f, true
}

// normalMin is the smallest double that is not subnormal.
const normalMin = 0x1p-1022

func toDouble(s *Scratch, v bson.Value, o convertOptions) (bson.Value, error) {
	switch v.Type {
	case bson.TypeDouble:
		return v, nil
	case bson.TypeBool:
		return s.Double(float64(v.Data[0])), nil
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := v.Int64()
		return s.Double(float64(n)), nil
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		f := decimal.ToFloat64(d)
		if math.IsInf(f, 0) && !d.IsInf() || f == 0 && !d.IsZero() {
			return v, failed("Conversion would overflow target type: %s", show(v))
		}
		return s.Double(f), nil
	case bson.TypeDateTime:
		ms, _ := v.DateTime()
		return s.Double(float64(ms)), nil
	case bson.TypeString:
		if o.base != 0 && o.base != 10 {
			n, err := parseInBase(v, o.base)
			if err != nil {
				return v, err
			}
			if !n.IsInt64() {
				return v, failed("Conversion would overflow target type: %s", show(v))
			}
			return s.Double(float64(n.Int64())), nil
		}
		text, err := numberText(v)
		if err != nil {
			return v, err
		}
		f, ok := parseDouble(text)
		if !ok {
			return v, failed("Failed to parse number %s", show(v))
		}
		if f != 0 && math.Abs(f) < normalMin && !o.subnormal {
			return v, failed("Failed to parse number %s: Out of range", show(v))
		}
		return s.Double(f), nil
	case bson.TypeBinary:
		_, b, _ := v.Binary()
		switch n := bitsOf(b, o.bigEndian); len(b) {
		case 4:
			return s.Double(float64(math.Float32frombits(uint32(n)))), nil
		case 8:
			return s.Double(math.Float64frombits(n)), nil
		}
		return v, failed("Failed to convert binData to double because of invalid length: %d", len(b))
	}
	return v, unsupported(v, bson.TypeDouble)
}

// bitsOf reads up to eight bytes as an unsigned integer.
func bitsOf(b []byte, bigEndian bool) uint64 {
	var buf [8]byte
	if len(b) > 8 {
		return 0
	}
	if bigEndian {
		copy(buf[8-len(b):], b)
		return binary.BigEndian.Uint64(buf[:])
	}
	copy(buf[:], b)
	return binary.LittleEndian.Uint64(buf[:])
}

// toInteger converts to int32 or int64.
func toInteger(s *Scratch, v bson.Value, t bson.Type, o convertOptions) (bson.Value, error) {
	n, ok := int64(0), true
	switch v.Type {
	case bson.TypeBool:
		n = int64(v.Data[0])
	case bson.TypeInt32, bson.TypeInt64:
		n, _ = v.Int64()
	case bson.TypeDouble:
		f, _ := v.Double()
		if f != f || math.IsInf(f, 0) {
			return v, failed("Attempt to convert %s value to integer type", show(v))
		}
		if f = math.Trunc(f); f >= 1<<63 || f < -1<<63 {
			ok = false
		}
		n = int64(f)
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		if d.IsNaN() || d.IsInf() {
			return v, failed("Attempt to convert %s value to integer type", show(v))
		}
		n, ok = decimal.ToInt64(d, decimal.Down)
	case bson.TypeDateTime:
		if t == bson.TypeInt32 {
			return v, unsupported(v, t)
		}
		n, _ = v.DateTime()
	case bson.TypeString:
		base := o.base
		text, err := numberText(v)
		if base == 0 {
			base = 10
			if err != nil {
				return v, err
			}
		}
		if n, err = strconv.ParseInt(text, base, 64); err != nil {
			return v, failed("Failed to parse number %s", show(v))
		}
	case bson.TypeBinary:
		_, b, _ := v.Binary()
		u := bitsOf(b, o.bigEndian)
		switch {
		case len(b) == 1:
			n = int64(int8(u))
		case len(b) == 2:
			n = int64(int16(u))
		case len(b) == 4:
			n = int64(int32(u))
		case len(b) == 8 && t == bson.TypeInt64:
			n = int64(u)
		default:
			return v, failed("Failed to convert binData to %s because of invalid length: %d", t, len(b))
		}
	default:
		return v, unsupported(v, t)
	}
	if t == bson.TypeInt32 && n != int64(int32(n)) {
		ok = false
	}
	switch {
	case !ok:
		return v, failed("Conversion would overflow target type: %s", show(v))
	case v.Type == t:
		return v, nil
	case t == bson.TypeInt32:
		return s.Int32(int32(n)), nil
	}
	return s.Int64(n), nil
}

func toDecimalValue(s *Scratch, v bson.Value, o convertOptions) (bson.Value, error) {
	switch v.Type {
	case bson.TypeDecimal128:
		return v, nil
	case bson.TypeDouble, bson.TypeInt32, bson.TypeInt64:
		return s.Decimal(toDecimal(v)), nil
	case bson.TypeBool:
		return s.Decimal(decimal.FromInt64(int64(v.Data[0]))), nil
	case bson.TypeDateTime:
		ms, _ := v.DateTime()
		return s.Decimal(decimal.FromInt64(ms)), nil
	case bson.TypeString:
		text, err := numberText(v)
		if o.base != 0 && o.base != 10 {
			n, err := parseInBase(v, o.base)
			if err != nil {
				return v, err
			}
			text = n.String()
		} else if err != nil {
			return v, err
		}
		d, ok := decimal.Parse(text)
		if d.IsNaN() && text[0] == '-' {
			d.Hi |= 1 << 63
		}
		if !ok || d.IsInf() && !strings.ContainsAny(text, "nN") || d.IsZero() && hasDigits(text) {
			return v, failed("Failed to parse number %s", show(v))
		}
		return s.Decimal(d), nil
	}
	return v, unsupported(v, bson.TypeDecimal128)
}

// hasDigits reports whether the text of a number has digits other than zero before the exponent: then the
// number is not zero, even if it was rounded to zero.
func hasDigits(text string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return strings.ContainsAny(mantissa, "123456789")
}
