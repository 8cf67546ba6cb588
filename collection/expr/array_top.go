package expr

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// topOfArray is $top, $topN, $bottom or $bottomN of an array: its first or last elements in the order of $sortArray.
type topOfArray struct {
	name  string
	n     Expr // nil: one element, not in an array
	order sortArray
}

var topSignature = &signature{
	fields:    []field{{name: "input", missing: 2942502}, {name: "sortBy", missing: 2942503}},
	notObject: 2942500, unknown: 2942501,
}

var topNSignature = &signature{
	fields:    []field{{name: "input", missing: 5787907}, {name: "sortBy", missing: 2942503}, {name: "n", missing: 5787906}},
	notObject: 5787900, unknown: 5787901,
}

// parseTop returns the parse function of $top, $topN, $bottom and $bottomN.
func parseTop(sig *signature) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		raw, err := p.namedValues(op, sig, v)
		if err != nil {
			return nil, err
		}
		e := &topOfArray{name: op.Name}
		if err = e.order.setOrder(raw[1]); err != nil {
			return nil, err
		}
		if e.order.input, err = p.parse(raw[0]); err != nil {
			return nil, err
		}
		if len(raw) > 2 {
			if e.n, err = p.parse(raw[2]); err != nil {
				return nil, err
			}
		}
		return p.fold(e)
	}
}

func (e *topOfArray) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := e.order.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	n := int64(1)
	if e.n != nil {
		c, err := e.n.Eval(env, doc, s)
		if err != nil {
			return c, err
		}
		if n, err = CountOfN(e.name, c); err != nil {
			return c, err
		}
	}
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	if err = e.order.push(env, s, v, e.name); err != nil {
		return v, err
	}
	sorted := s.stack[base:]
	if extra := int64(len(sorted)) - n; extra > 0 {
		if strings.HasPrefix(e.name, "$bottom") {
			sorted = sorted[extra:]
		} else {
			sorted = sorted[:n]
		}
	}
	switch {
	case e.n != nil:
		return s.arrayOf(env, sorted)
	case len(sorted) == 0:
		return bson.Value{}, nil
	}
	return sorted[0], nil
}

func (e *topOfArray) children(add func(Expr)) {
	add(e.order.input)
	if e.n != nil {
		add(e.n)
	}
}

func (e *topOfArray) Paths(add func(string)) { pathsOf(e, add) }

func (e *topOfArray) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(e.name)
	if e.n != nil {
		e.n.Append(b, "n")
	}
	e.order.input.Append(b, "input")
	b.Value("sortBy", e.order.by)
	b.End()
	b.End()
}
