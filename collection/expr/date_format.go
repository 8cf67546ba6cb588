package expr

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var toStringSignature = &signature{
	fields:    []field{{name: "date", missing: 18628}, {name: "format"}, {name: "timezone"}, {name: "onNull"}},
	notObject: 18629, unknown: 18534, check: checkToString,
}

func checkToString(_ *parser, args []Expr) error {
	if args[1] == nil {
		return nil
	}
	if f, ok := IsConstant(args[1]); ok && f.Type == bson.TypeString {
		text, _ := f.Str()
		return checkFormat(text, formatLetters)
	}
	return nil
}

// formatLetters are the letters that may follow % in a format of $dateToString. $dateFromString does not
// support %U and %w.
const formatLetters = "dGHjLmMSUuVwYzZ%bB"

// checkFormat validates the format string of a date; letters are those that may follow %.
//
// Errors: 18535 for a lone per cent sign at the end, 18536 for an unknown specifier.
func checkFormat(format, letters string) error {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i++; i == len(format) {
			return mongoerr.New(18535, "Unmatched '%' at end of format string")
		}
		if strings.IndexByte(letters, format[i]) < 0 {
			return mongoerr.New(18536, "Invalid format character '%%%c' in format string", format[i])
		}
	}
	return nil
}

// dateToString is $dateToString.
func dateToString(_ *mql.Env, s *Scratch, a []bson.Value, g given) (bson.Value, error) {
	format := "%Y-%m-%dT%H:%M:%S.%LZ"
	if g.has(1) {
		if a[1].IsNullish() {
			return bson.Null, nil
		}
		if a[1].Type != bson.TypeString {
			return a[1], mongoerr.New(18533, "$dateToString requires that 'format' be a string, found: %s with value %s", a[1].Type, show(a[1]))
		}
		format, _ = a[1].Str()
		if err := checkFormat(format, formatLetters); err != nil {
			return a[1], err
		}
	}
	z, ok, err := s.zoneArg(a[2], g.has(2))
	if err != nil {
		return a[2], err
	}
	if a[0].IsNullish() {
		if g.has(3) {
			return a[3], nil
		}
		return bson.Null, nil
	}
	if !ok {
		return bson.Null, nil
	}
	if !g.has(1) && z.name != "UTC" && z.name != "GMT" {
		format = format[:len(format)-1]
	}
	ms, err := dateArg(a[0])
	if err != nil {
		return a[0], err
	}
	var buf [64]byte
	text, err := appendFormat(buf[:0], format, ms, z)
	if err != nil {
		return a[0], err
	}
	if len(text) >= bson.MaxDocumentBytes {
		return a[0], longString("$dateToString")
	}
	return s.StringBytes(text), nil
}

// appendFormat appends the instant ms in a time zone by a format that checkFormat accepts.
//
// Errors: 18537 for a year outside of 0 to 9999.
func appendFormat(dst []byte, format string, ms int64, z *zone) ([]byte, error) {
	offset := z.offsetAt(ms)
	c := civilOf(ms + offset*msPerSecond)
	year := func(n int64) error {
		if n < 0 || n > 9999 {
			return mongoerr.New(18537, "Could not convert date to string: date component was outside the supported range of 0-9999: %d", n)
		}
		dst = appendPadded(dst, n, 4)
		return nil
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			dst = append(dst, format[i])
			continue
		}
		i++
		var err error
		switch format[i] {
		case '%':
			dst = append(dst, '%')
		case 'd':
			dst = appendPadded(dst, c.day, 2)
		case 'G':
			y, _ := isoWeek(c.days)
			err = year(y)
		case 'H':
			dst = appendPadded(dst, c.hour, 2)
		case 'j':
			dst = appendPadded(dst, yearDay(c.days), 3)
		case 'L':
			dst = appendPadded(dst, c.ms, 3)
		case 'm':
			dst = appendPadded(dst, c.month, 2)
		case 'M':
			dst = appendPadded(dst, c.minute, 2)
		case 'S':
			dst = appendPadded(dst, c.second, 2)
		case 'U':
			dst = appendPadded(dst, sundayWeek(c.days), 2)
		case 'u':
			dst = appendPadded(dst, isoWeekday(c.days), 1)
		case 'V':
			_, w := isoWeek(c.days)
			dst = appendPadded(dst, w, 2)
		case 'w':
			dst = appendPadded(dst, weekday(c.days)+1, 1)
		case 'Y':
			err = year(c.year)
		case 'z':
			o := offset / 60
			sign := byte('+')
			if o < 0 {
				sign, o = '-', -o
			}
			dst = append(dst, sign)
			dst = appendPadded(dst, o/60, 2)
			dst = appendPadded(dst, o%60, 2)
		case 'Z':
			dst = appendPadded(dst, offset/60, 1)
		case 'b', 'B':
			name := months[c.month-1]
			n := len(name)
			if format[i] == 'b' {
				n = 3
			}
			dst = append(append(dst, name[0]-32), name[1:n]...)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}
