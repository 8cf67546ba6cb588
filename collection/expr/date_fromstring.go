package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
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

// parseLetters are the letters that may follow % in a format of $dateFromString.
const parseLetters = "dGHjLmMSuVYzZ%bB"

func (e *dateFromString) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := e.text.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	// A wrong format or time zone is an error even if the date to parse is null.
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
	if err := env.Spend(len(v.Data)); err != nil {
		return v, err
	}
	text, isText := v.Str()
	var ms int64
	switch {
	case !isText || v.Type != bson.TypeString:
		err = mongoerr.New(mongoerr.ConversionFailure, "$dateFromString requires that 'dateString' be a string, found: %s with value %s", v.Type, show(v))
	case null:
		return bson.Null, nil
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
