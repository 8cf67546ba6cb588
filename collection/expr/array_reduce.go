package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// reduce is $reduce. $$this is the current element of the array, $$value the result so far, $$IDX the element's
// index; arguments may give these variables other names.
type reduce struct {
	slot               int // of the element; the value and the index are next
	as, value, index   string
	input, initial, in Expr
}

var reduceSignature = &signature{
	fields: []field{{name: "input", missing: 40077}, {name: "initialValue", missing: 40078}, {name: "in", missing: 40079},
		{name: "as"}, {name: "valueAs"}, {name: "arrayIndexAs"}},
	notObject: 40075, unknown: 40076,
}

func parseReduce(p *parser, op *Operator, v bson.Value) (Expr, error) {
	raw, err := p.namedValues(op, reduceSignature, v)
	if err != nil {
		return nil, err
	}
	r := &reduce{slot: p.slot()}
	if r.as, err = variableName(raw[3], "this"); err != nil {
		return nil, err
	}
	if r.value, err = variableName(raw[4], "value"); err != nil {
		return nil, err
	}
	if r.index, err = variableName(raw[5], indexVariable); err != nil {
		return nil, err
	}
	if err = distinctVariables(op.Name, r.as, r.value, r.index); err != nil {
		return nil, err
	}
	if r.input, err = p.parse(raw[0]); err != nil {
		return nil, err
	}
	if r.initial, err = p.parse(raw[1]); err != nil {
		return nil, err
	}
	p.lazy++
	r.in, err = p.parseIn(raw[2], r.as, r.value, r.index)
	p.lazy--
	return r, err
}

// Eval reduces an array to one value. It keeps the result so far alternately in two buffers, so that a long
// array needs only the memory of two values.
func (r *reduce) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := r.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	if v.IsNullish() {
		return bson.Null, nil
	}
	a, ok := v.Array()
	if !ok {
		return v, mongoerr.New(40080, "$reduce requires that 'input' be an array, found: %s", show(v))
	}
	acc, err := r.initial.Eval(env, doc, s)
	if err != nil {
		return acc, err
	}
	if s.enterLoop(doc) {
		defer s.leaveLoop()
	}
	mark := s.Mark()
	t := s.doubleBuffer()
	rounds := 0
	for it := a.Iter(); it.Next(); s.Release(mark) {
		s.setSlot(r.slot, it.Value)
		s.setSlot(r.slot+1, acc)
		s.setSlot(r.slot+2, s.Int32(int32(rounds)))
		if acc, err = r.in.Eval(env, doc, s); err != nil {
			break
		}
		if rounds++; rounds&63 == 0 && (acc.Type == bson.TypeArray || acc.Type == bson.TypeDocument) && bson.Raw(acc.Data).Depth() > bson.MaxDepth {
			err = mongoerr.New(mongoerr.Overflow, "$reduce: the value exceeds the limit of %d levels of nesting", bson.MaxDepth)
			break
		}
		if acc, err = t.keep(env, s, acc); err != nil {
			break
		}
		if err = env.Tick(); err != nil {
			break
		}
	}
	if err != nil || rounds == 0 {
		t.drop(s)
		return acc, err
	}
	return t.end(env, s, acc)
}

func (r *reduce) children(add func(Expr)) { add(r.input); add(r.initial); add(r.in) }

func (r *reduce) Paths(add func(string)) { pathsOf(r, add) }

func (r *reduce) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$reduce")
	r.input.Append(b, "input")
	r.initial.Append(b, "initialValue")
	for _, v := range [3]struct{ argument, name, otherwise string }{
		{"as", r.as, "this"}, {"valueAs", r.value, "value"}, {"arrayIndexAs", r.index, indexVariable},
	} {
		if v.name != v.otherwise {
			b.String(v.argument, v.name)
		}
	}
	r.in.Append(b, "in")
	b.End()
	b.End()
}
