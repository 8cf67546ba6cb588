package expr

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// loop is $map or $filter: it evaluates an expression for each element of an array. During the evaluation, the
// element is in the variable of slot and its index in the variable of the next slot.
type loop struct {
	name  string // operator
	body  string // name of the argument that is evaluated for each element
	as    string // variable; "this" if not given
	index string // variable; "IDX" if not given
	slot  int
	input Expr
	each  Expr
	limit Expr // $filter; nil if absent
}

// indexVariable is the default name of the variable for an element's index (arrayIndexAs).
// Manual: reference/aggregation-variables.
const indexVariable = "IDX"

var mapSignature = &signature{
	fields:    []field{{name: "input", missing: 16880}, {name: "as"}, {name: "in", missing: 16882}, {name: "arrayIndexAs"}},
	notObject: 16878, unknown: 16879,
}

var filterSignature = &signature{
	fields:    []field{{name: "input", missing: 28648}, {name: "as"}, {name: "cond", missing: 28650}, {name: "arrayIndexAs"}, {name: "limit"}},
	notObject: 28646, unknown: 28647,
}

// parseLoop returns the parse function of $map and $filter.
func parseLoop(sig *signature) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		raw, err := p.namedValues(op, sig, v)
		if err != nil {
			return nil, err
		}
		l := &loop{name: op.Name, body: sig.fields[2].name, slot: p.slot()}
		if l.as, err = variableName(raw[1], "this"); err != nil {
			return nil, err
		}
		if l.index, err = variableName(raw[3], indexVariable); err != nil {
			return nil, err
		}
		if err = distinctVariables(op.Name, l.as, l.index); err != nil {
			return nil, err
		}
		if l.input, err = p.parse(raw[0]); err != nil {
			return nil, err
		}
		p.lazy++ // not evaluated for an empty array
		l.each, err = p.parseIn(raw[2], l.as, l.index)
		p.lazy--
		if err != nil {
			return nil, err
		}
		if len(raw) > 4 && !raw[4].IsMissing() {
			if l.limit, err = p.parse(raw[4]); err != nil {
				return nil, err
			}
		}
		return l, nil
	}
}

// variableName returns the name of a variable that an argument gives. If the argument is absent, it returns
// otherwise.
//
// Errors: FailedToParse.
func variableName(v bson.Value, otherwise string) (string, error) {
	if v.IsMissing() {
		return otherwise, nil
	}
	name, ok := v.Str()
	if !ok {
		name = ""
	}
	return name, checkVariable(name, true)
}

// distinctVariables rejects the same name for two variables of one operator, because one would hide the other.
//
// Errors: FailedToParse.
func distinctVariables(op string, names ...string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return mongoerr.New(mongoerr.FailedToParse, "%s gives two of its variables the name '%s'", op, name)
		}
	}
	return nil
}

func (l *loop) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := l.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	filter := l.name == "$filter"
	limit := int64(-1)
	if l.limit != nil {
		if limit, err = l.evalLimit(env, doc, s); err != nil {
			return v, err
		}
	}
	if v.IsNullish() {
		return bson.Null, nil
	}
	a, ok := v.Array()
	if !ok {
		if filter {
			return v, mongoerr.New(28651, "input to $filter must be an array not %s", v.Type)
		}
		return v, mongoerr.New(16883, "input to $map must be an array not %s", v.Type)
	}
	if s.enterLoop(doc) {
		defer s.leaveLoop()
	}
	b := s.newArray()
	mark := s.Mark()
	index := int32(0)
	for it := a.Iter(); it.Next() && limit != 0; s.Release(mark) {
		s.setSlot(l.slot, it.Value)
		s.setSlot(l.slot+1, s.Int32(index))
		index++
		r, err := l.each.Eval(env, doc, s)
		if err == nil {
			switch {
			case !filter:
				err = s.element(env, b, r)
			case r.Truthy():
				limit--
				err = s.element(env, b, it.Value)
			default:
				err = env.Tick()
			}
		}
		if err != nil {
			s.drop(b)
			return r, err
		}
	}
	return s.endArray(env, b)
}

// evalLimit returns the maximal number of elements that $filter keeps, -1 for all.
func (l *loop) evalLimit(env *mql.Env, doc bson.Raw, s *Scratch) (int64, error) {
	v, err := l.limit.Eval(env, doc, s)
	if err != nil {
		return 0, err
	}
	if v.IsNullish() {
		return -1, nil
	}
	n, ok := asInt32(v)
	if !ok {
		return 0, mongoerr.New(327391, "$filter: limit must be represented as a 32-bit integral value: %s", show(v))
	}
	if n <= 0 {
		return 0, mongoerr.New(327392, "$filter: limit must be greater than 0: %d", n)
	}
	return int64(n), nil
}

func (l *loop) children(add func(Expr)) {
	add(l.input)
	add(l.each)
	if l.limit != nil {
		add(l.limit)
	}
}

func (l *loop) Paths(add func(string)) { pathsOf(l, add) }

func (l *loop) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(l.name)
	l.input.Append(b, "input")
	b.String("as", l.as)
	if l.index != indexVariable {
		b.String("arrayIndexAs", l.index)
	}
	l.each.Append(b, l.body)
	if l.limit != nil {
		l.limit.Append(b, "limit")
	}
	b.End()
	b.End()
}

// asInt32 converts a number that is integral and fits into 32 bits.
func asInt32(v bson.Value) (int32, bool) {
	n, ok := v.AsInt64()
	return int32(n), ok && n == int64(int32(n))
}
