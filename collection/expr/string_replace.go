package expr

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var replaceSignature = &signature{
	fields:    []field{{name: "input", missing: 51749}, {name: "find", missing: 51748}, {name: "replacement", missing: 51747}},
	notObject: 51751, unknown: 51750,
}

// parseReplace returns the parse function of $replaceOne (most 1) and $replaceAll (most -1).
func parseReplace(most int) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		return named(replaceSignature, replace(op.Name, most, &regexCall{name: op.Name}))(p, op, v)
	}
}

// replace returns the functions of $replaceOne (most 1) and $replaceAll (most -1); patterns caches the compiled
// regular expression.
func replace(op string, most int, patterns *regexCall) namedFunction {
	return func(env *mql.Env, s *Scratch, a []bson.Value, _ given) (bson.Value, error) {
		for i, f := range replaceSignature.fields {
			if a[i].Type != bson.TypeString && !a[i].IsNullish() && (f.name != "find" || a[i].Type != bson.TypeRegex) {
				return a[i], mongoerr.New([]mongoerr.Code{10503904, 10503901, 10503902}[i], "%s requires that '%s' be a string, found: %s", op, f.name, show(a[i]))
			}
		}
		if a[0].IsNullish() || a[1].IsNullish() || a[2].IsNullish() {
			return bson.Null, nil
		}
		if a[1].Type == bson.TypeRegex {
			return patterns.replace(env, s, a, most)
		}
		input, _ := a[0].Text()
		find, _ := a[1].Text()
		with, _ := a[2].Text()
		n := 0
		if len(find) == 0 {
			n = codePoints(input) + 1
		} else {
			n = bytes.Count(input, find)
		}
		if most >= 0 && n > most {
			n = most
		}
		if n == 0 {
			return a[0], nil
		}
		out, text, err := s.newText(env, op, len(input)+n*(len(with)-len(find)))
		if err != nil {
			return out, err
		}
		for rest := input; ; n-- {
			i := -1
			if n > 0 {
				i = bytes.Index(rest, find)
			}
			if i < 0 {
				copy(text, rest)
				break
			}
			text = text[copy(text, rest[:i]):]
			text = text[copy(text, with):]
			rest = rest[i+len(find):]
			if len(find) == 0 && len(rest) > 0 {
				k := byteOffset(rest, 1)
				text = text[copy(text, rest[:k]):]
				rest = rest[k:]
			}
		}
		return out, nil
	}
}
