package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// zip is $zip: for each i, up to the shortest input, it returns an array of the i-th elements of all inputs; with
// longest up to the longest, null or a default where an input is shorter.
type zip struct {
	inputs, defaults []Expr
	longest          bool
}

var zipSignature = &signature{
	fields: []field{
		{name: "inputs", missing: 34465, missingText: "$zip requires at least one input array"},
		{name: "defaults"}, {name: "useLongestLength"},
	},
	notObject: 34460, unknown: 34464,
}

func parseZip(p *parser, op *Operator, v bson.Value) (Expr, error) {
	raw, err := p.namedValues(op, zipSignature, v)
	if err != nil {
		return nil, err
	}
	z := &zip{}
	operands := func(v bson.Value, name string, code mongoerr.Code) (es []Expr, err error) {
		a, ok := v.Array()
		if !ok {
			return nil, mongoerr.New(code, "%s must be an array of expressions, found: %s", name, v.Type)
		}
		for v := range a.Values() {
			e, err := p.parse(v)
			if err != nil {
				return nil, err
			}
			es = append(es, e)
		}
		return es, nil
	}
	if z.inputs, err = operands(raw[0], "inputs", 34461); err != nil {
		return nil, err
	}
	if !raw[1].IsMissing() {
		if z.defaults, err = operands(raw[1], "defaults", 34462); err != nil {
			return nil, err
		}
	}
	if !raw[2].IsMissing() {
		var ok bool
		if z.longest, ok = raw[2].Boolean(); !ok {
			return nil, mongoerr.New(34463, "useLongestLength must be a bool, found: %s", raw[2].Type)
		}
	}
	switch {
	case len(z.inputs) == 0:
		return nil, mongoerr.New(34465, "$zip requires at least one input array")
	case len(z.defaults) > 0 && !z.longest:
		return nil, mongoerr.New(34466, "cannot specify defaults unless useLongestLength is true")
	case len(z.defaults) > 0 && len(z.defaults) != len(z.inputs):
		return nil, mongoerr.New(34467, "defaults and inputs must have the same length")
	}
	return p.fold(z)
}

func (z *zip) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	null := false
	for _, e := range z.inputs {
		v, err := e.Eval(env, doc, s)
		if err != nil {
			return v, err
		}
		if v.IsNullish() {
			null = true
		} else if v.Type != bson.TypeArray {
			return v, mongoerr.New(34468, "$zip found a non-array expression in input: %s", show(v))
		}
		s.stack = append(s.stack, v)
	}
	if null {
		return bson.Null, nil
	}
	for _, e := range z.defaults {
		v, err := e.Eval(env, doc, s)
		if err != nil {
			return v, err
		}
		s.stack = append(s.stack, v)
	}
	n := len(z.inputs)
	inputs, defaults := s.stack[base:base+n], s.stack[base+n:]
	its := make([]bson.Iter, n)
	for i, v := range inputs {
		its[i] = bson.Raw(v.Data).Iter()
	}
	b := s.newArray()
	for row := 0; ; row++ {
		mark := b.Mark()
		b.BeginArray("")
		full, some := true, false
		for i := range its {
			v := bson.Null
			if its[i].Next() {
				v, some = its[i].Value, true
			} else if full = false; len(defaults) > 0 && !defaults[i].IsMissing() {
				v = defaults[i]
			}
			if err := s.room(env, b, len(v.Data)+headBytes); err != nil {
				s.drop(b)
				return v, err
			}
			b.Value("", v)
		}
		b.End()
		if !full && !z.longest || !some {
			b.Cut(mark)
			break
		}
		if err := env.Tick(); err != nil {
			s.drop(b)
			return bson.Value{}, err
		}
	}
	return s.endArray(env, b)
}

func (z *zip) children(add func(Expr)) {
	for _, e := range z.inputs {
		add(e)
	}
	for _, e := range z.defaults {
		add(e)
	}
}

func (z *zip) Paths(add func(string)) { pathsOf(z, add) }

func (z *zip) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$zip")
	(&array{z.inputs}).Append(b, "inputs")
	if len(z.defaults) > 0 {
		(&array{z.defaults}).Append(b, "defaults")
	}
	b.Bool("useLongestLength", z.longest)
	b.End()
	b.End()
}
