package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// let is $let: it defines local variables for the evaluation of the expression in.
type let struct {
	names []string
	vals  []Expr
	slot  int // of the first variable
	in    Expr
}

func parseLet(p *parser, _ *Operator, v bson.Value) (Expr, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(16874, "$let only supports an object as its argument")
	}
	var vars, in bson.Value
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "vars":
			vars = it.Value
		case "in":
			in = it.Value
		default:
			return nil, mongoerr.New(16875, "Unrecognized parameter to $let: %s", it.Name)
		}
	}
	if vars.IsMissing() {
		return nil, mongoerr.New(16876, "Missing 'vars' parameter to $let")
	}
	if in.IsMissing() {
		return nil, mongoerr.New(16877, "Missing 'in' parameter to $let")
	}
	vd := bson.Raw(vars.Data) // the names of an array are not names of variables
	if vars.Type != bson.TypeDocument && vars.Type != bson.TypeArray {
		return nil, mongoerr.New(10065, "invalid parameter: expected an object (vars)")
	}
	l := &let{slot: p.slot()}
	for it := vd.Iter(); it.Next(); {
		name := string(it.Name)
		if err := checkVariable(name, true); err != nil {
			return nil, err
		}
		e, err := p.parse(it.Value)
		if err != nil {
			return nil, err
		}
		l.names, l.vals = append(l.names, name), append(l.vals, e)
	}
	var err error
	if l.in, err = p.parseIn(in, l.names...); err != nil {
		return nil, err
	}
	if _, ok := IsConstant(l.in); ok {
		return l.in, nil
	}
	return l, nil
}

func (l *let) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	base := len(s.stack)
	for _, e := range l.vals {
		v, err := e.Eval(env, doc, s)
		if err != nil {
			s.stack = s.stack[:base]
			return v, err
		}
		s.stack = append(s.stack, v)
	}
	for i, v := range s.stack[base:] {
		s.setSlot(l.slot+i, v)
	}
	s.stack = s.stack[:base]
	return l.in.Eval(env, doc, s)
}

func (l *let) children(add func(Expr)) {
	for _, e := range l.vals {
		add(e)
	}
	add(l.in)
}

func (l *let) Paths(add func(string)) { pathsOf(l, add) }

func (l *let) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$let")
	b.BeginDoc("vars")
	for i, e := range l.vals {
		e.Append(b, l.names[i])
	}
	b.End()
	l.in.Append(b, "in")
	b.End()
	b.End()
}
