package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// cond is $cond: if, then, else.
type cond struct{ test, then, other Expr }

// parseCond reads both forms: [if, then, else] and {if:, then:, else:}.
func parseCond(p *parser, op *Operator, v bson.Value) (Expr, error) {
	raw := make([]bson.Value, 0, 3)
	if d, ok := v.Doc(); ok {
		raw = raw[:3]
		for it := d.Iter(); it.Next(); {
			switch string(it.Name) {
			case "if":
				raw[0] = it.Value
			case "then":
				raw[1] = it.Value
			case "else":
				raw[2] = it.Value
			default:
				return nil, mongoerr.New(17083, "Unrecognized parameter to $cond: %s", it.Name)
			}
		}
		for i, name := range [3]string{"if", "then", "else"} {
			if raw[i].IsMissing() {
				return nil, mongoerr.New(mongoerr.Code(17080+i), "Missing '%s' parameter to $cond", name)
			}
		}
	} else if a, ok := v.Array(); ok {
		for e := range a.Values() {
			raw = append(raw, e)
		}
		if len(raw) != 3 {
			return nil, op.arity(len(raw))
		}
	} else {
		return nil, op.arity(1)
	}
	test, err := p.parse(raw[0])
	if err != nil {
		return nil, err
	}
	then, err := p.parseLazy(raw[1])
	if err != nil {
		return nil, err
	}
	other, err := p.parseLazy(raw[2])
	if err != nil {
		return nil, err
	}
	if t, ok := IsConstant(test); ok {
		if t.Truthy() {
			return then, nil
		}
		return other, nil
	}
	return &cond{test, then, other}, nil
}

func (c *cond) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := c.test.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	if v.Truthy() {
		return c.then.Eval(env, doc, s)
	}
	return c.other.Eval(env, doc, s)
}

func (c *cond) children(add func(Expr)) { add(c.test); add(c.then); add(c.other) }

func (c *cond) Paths(add func(string)) { pathsOf(c, add) }

func (c *cond) Append(b *bson.Builder, name string) {
	(&call{name: "$cond", args: []Expr{c.test, c.then, c.other}}).Append(b, name)
}

// ifNull is $ifNull: it returns the first operand that is neither null nor missing, or else the last operand.
type ifNull struct{ args []Expr }

func parseIfNull(p *parser, op *Operator, v bson.Value) (Expr, error) {
	args, err := p.list(&Operator{Name: op.Name, Max: -1}, v)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, mongoerr.New(1257300, "$ifNull needs at least two arguments, had: %d", len(args))
	}
	return p.fold(&ifNull{args})
}

func (n *ifNull) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (v bson.Value, err error) {
	for _, e := range n.args {
		if v, err = e.Eval(env, doc, s); err != nil || !v.IsNullish() {
			break
		}
	}
	return v, err
}

func (n *ifNull) children(add func(Expr)) {
	for _, e := range n.args {
		add(e)
	}
}

func (n *ifNull) Paths(add func(string)) { pathsOf(n, add) }

func (n *ifNull) Append(b *bson.Builder, name string) {
	(&call{name: "$ifNull", args: n.args}).Append(b, name)
}

// branch is one case of $switch.
type branch struct{ test, then Expr }

// switchExpr is $switch; other is nil without a default.
type switchExpr struct {
	branches []branch
	other    Expr
}

func parseSwitch(p *parser, _ *Operator, v bson.Value) (Expr, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(40060, "$switch requires an object as an argument, found: %s", v.Type)
	}
	w := &switchExpr{}
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "branches":
			a, ok := it.Value.Array()
			if !ok {
				return nil, mongoerr.New(40061, "$switch expected an array for 'branches', found: %s", it.Value.Type)
			}
			for v := range a.Values() {
				br, err := parseBranch(p, v)
				if err != nil {
					return nil, err
				}
				w.branches = append(w.branches, br)
			}
		case "default":
			var err error
			if w.other, err = p.parseLazy(it.Value); err != nil {
				return nil, err
			}
		default:
			return nil, mongoerr.New(40067, "$switch found an unknown argument: %s", it.Name)
		}
	}
	if len(w.branches) == 0 {
		return nil, mongoerr.New(40068, "$switch requires at least one branch.")
	}
	return p.fold(w)
}

func parseBranch(p *parser, v bson.Value) (br branch, err error) {
	d, ok := v.Doc()
	if !ok {
		return br, mongoerr.New(40062, "$switch expected each branch to be an object, found: %s", v.Type)
	}
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "case":
			br.test, err = p.parseLazy(it.Value)
		case "then":
			br.then, err = p.parseLazy(it.Value)
		default:
			err = mongoerr.New(40063, "$switch found an unknown argument to a branch: %s", it.Name)
		}
		if err != nil {
			return br, err
		}
	}
	if br.test == nil {
		return br, mongoerr.New(40064, "$switch requires each branch have a 'case' expression")
	}
	if br.then == nil {
		return br, mongoerr.New(40065, "$switch requires each branch have a 'then' expression.")
	}
	return br, nil
}

func (w *switchExpr) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	for _, br := range w.branches {
		v, err := br.test.Eval(env, doc, s)
		if err != nil {
			return v, err
		}
		if v.Truthy() {
			return br.then.Eval(env, doc, s)
		}
	}
	if w.other == nil {
		return bson.Value{}, mongoerr.New(40069, "$switch could not find a matching branch for an input, and no default was specified.")
	}
	return w.other.Eval(env, doc, s)
}

func (w *switchExpr) children(add func(Expr)) {
	for _, br := range w.branches {
		add(br.test)
		add(br.then)
	}
	if w.other != nil {
		add(w.other)
	}
}

func (w *switchExpr) Paths(add func(string)) { pathsOf(w, add) }

func (w *switchExpr) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$switch")
	b.BeginArray("branches")
	for _, br := range w.branches {
		b.BeginDoc("")
		br.test.Append(b, "case")
		br.then.Append(b, "then")
		b.End()
	}
	b.End()
	if w.other != nil {
		w.other.Append(b, "default")
	}
	b.End()
	b.End()
}
