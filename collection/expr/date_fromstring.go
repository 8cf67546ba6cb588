package expr

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// dateFromString is $dateFromString.
type dateFromString struct {
	text, format, zone, onError, onNull Expr // nil if absent
}

var fromStringSignature = &signature{
	fields:    []field{{name: "dateString", missing: 40542}, {name: "format"}, {name: "timezone"}, {name: "onError"}, {name: "onNull"}},
	notObject: 40540, unknown: 40541,
}

func parseDateFromString(p *parser, op *Operator, v bson.Value) (Expr, error) {
	args, err := p.namedArgs(op, fromStringSignature, v)
	if err != nil {
		return nil, err
	}
	e := &dateFromString{args[0], args[1], args[2], args[3], args[4]}
	if e.format != nil {
		if f, ok := IsConstant(e.format); ok && f.Type == bson.TypeString {
			text, _ := f.Str()
			if err := checkFormat(text, parseLetters); err != nil {
				return nil, err
			}
		}
	}
	return p.fold(e)
}

// parseLetters are the specifiers that $dateFromString understands.
const parseLetters = "dGHjLmMSuVYzZ%bB"

func (e *dateFromString) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := e.text.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	// A wrong format or zone is an error even where there is nothing to parse.
	format, hasFormat := "", false
	null := false
	if e.format != nil {
		f, err := e.format.Eval(env, doc, s)
		if err != nil {
			return f, err
		}
		switch {
		case f.IsNullish():
			null = true
		case f.Type != bson.TypeString:
			return f, mongoerr.New(40684, "$dateFromString requires that 'format' be a string, found: %s with value %s", f.Type, show(f))
		default:
			format, _ = f.Str()
			hasFormat = true
			if err := checkFormat(format, parseLetters); err != nil {
				return f, err
			}
		}
	}
	var z *zone
	if e.zone != nil {
		zv, err := e.zone.Eval(env, doc, s)
		if err != nil {
			return zv, err
		}
		var ok bool
		if z, ok, err = s.zoneOf(zv); err != nil {
			return zv, err
		}
		null = null || !ok
	}
	if v.IsNullish() {
		if e.onNull != nil {
			return e.onNull.Eval(env, doc, s)
		}
		return bson.Null, nil
	}
	if null {
		return bson.Null, nil
	}
	text, isText := v.Str()
	var ms int64
	switch {
	case !isText || v.Type != bson.TypeString:
		err = mongoerr.New(mongoerr.ConversionFailure, "$dateFromString requires that 'dateString' be a string, found: %s with value %s", v.Type, show(v))
	case hasFormat:
		ms, err = parseFormatted(text, format, z)
	default:
		ms, err = parseDate(text, z)
	}
	if err != nil {
		if e.onError != nil && mongoerr.CodeOf(err) == mongoerr.ConversionFailure {
			return e.onError.Eval(env, doc, s)
		}
		return v, err
	}
	return s.DateTime(ms), nil
}

// parseFormatted reads text by a valid format.
//
// Errors: ConversionFailure.
func parseFormatted(text, format string, def *zone) (int64, error) {
	c := newClock()
	rest := text
	// digitsIn reads up to most digits, at least least.
	digitsIn := func(least, most int) (int64, bool) {
		n := min(span(rest), most)
		if n < least {
			return 0, false
		}
		v := number(rest[:n])
		rest = rest[n:]
		return v, true
	}
	for i := 0; i < len(format); i++ {
		ok := true
		if format[i] != '%' {
			if ok = rest != "" && rest[0] == format[i]; ok {
				rest = rest[1:]
			}
		} else {
			i++
			switch format[i] {
			case '%':
				if ok = strings.HasPrefix(rest, "%"); ok {
					rest = rest[1:]
				}
			case 'd':
				c.day, ok = digitsIn(1, 2)
			case 'G':
				c.isoYear, ok = digitsIn(4, 4)
			case 'H':
				c.hour, ok = digitsIn(1, 2)
			case 'j':
				// Observed: the number is added to January 1st.
				c.yearDay, ok = digitsIn(3, 3)
				ok = ok && c.yearDay < 366
				c.yearDay++
			case 'L':
				n := min(span(rest), 3)
				c.ms, ok = digitsIn(1, 3)
				for ; n < 3; n++ {
					c.ms *= 10
				}
			case 'm':
				c.month, ok = digitsIn(1, 2)
			case 'M':
				c.minute, ok = digitsIn(1, 2)
			case 'S':
				c.second, ok = digitsIn(1, 2)
			case 'u':
				c.isoDay, ok = digitsIn(1, 1)
				ok = ok && c.isoDay >= 1 && c.isoDay <= 7
			case 'V':
				c.isoWeek, ok = digitsIn(1, 2)
				ok = ok && c.isoWeek >= 1 && c.isoWeek <= 53
			case 'Y':
				c.year, ok = digitsIn(4, 4)
			case 'b', 'B':
				p := dateText{rest: rest, c: c}
				if ok = p.month(); ok {
					c, rest = p.c, p.rest
				}
			case 'z':
				p := dateText{rest: rest, c: c}
				p.c.hasDate, p.c.hasTime = true, true
				switch {
				case rest == "":
					ok = false
				case rest[0] == '+' || rest[0] == '-':
					ok = p.zoneOffset()
				default:
					ok = p.word() && p.c.zone != nil
				}
				c.zone, c.hasZ, rest = p.c.zone, true, p.rest
			case 'Z':
				sign := int64(1)
				if rest != "" && (rest[0] == '+' || rest[0] == '-') {
					if rest[0] == '-' {
						sign = -1
					}
					rest = rest[1:]
				}
				var n int64
				n, ok = digitsIn(1, 4)
				c.zone, c.hasZ = &zone{offset: sign * n * 60}, true
			}
		}
		if !ok {
			return 0, badDate(text, "it does not match the format '"+clip(format)+"'")
		}
	}
	if rest != "" {
		return 0, badDate(text, "trailing data")
	}
	if c.hasZ && !def.isUTC() {
		return 0, badDate(text, "you cannot pass in a date/time string with time zone information together with a timezone argument")
	}
	switch {
	case c.isoYear != -1<<40 && (c.month >= 0 || c.day >= 0 || c.year != -1<<40):
		return 0, badDate(text, "mixing of ISO dates with natural dates is not allowed")
	case c.isoYear == -1<<40 && (c.isoWeek >= 0 || c.isoDay >= 0):
		return 0, badDate(text, "ISO week or day without an ISO year")
	case c.isoYear == -1<<40 && c.year == -1<<40,
		c.year != -1<<40 && c.yearDay < 0 && (c.month < 0 || c.day < 0):
		return 0, badDate(text, "an incomplete date/time string has been found, with elements missing: \""+clip(text)+"\"")
	}
	if def == nil {
		def = utc
	}
	return c.instant(text, def)
}

func (e *dateFromString) args() [5]Expr {
	return [5]Expr{e.text, e.format, e.zone, e.onError, e.onNull}
}

func (e *dateFromString) children(add func(Expr)) {
	for _, c := range e.args() {
		if c != nil {
			add(c)
		}
	}
}

func (e *dateFromString) Paths(add func(string)) { pathsOf(e, add) }

func (e *dateFromString) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$dateFromString")
	for i, c := range e.args() {
		if c != nil {
			c.Append(b, fromStringSignature.fields[i].name)
		}
	}
	b.End()
	b.End()
}
