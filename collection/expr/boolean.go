package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// junction is $and or $or: it stops at the first operand that decides.
type junction struct {
	name    string
	decides bool // the truth that ends the evaluation
	args    []Expr
}

// parseJunction makes the parse function of $and (decides false) and $or.
func parseJunction(decides bool) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		p.lazy++
		args, err := p.list(op, v)
		p.lazy--
		if err != nil {
			return nil, err
		}
		for _, e := range args {
			if v, ok := IsConstant(e); ok && v.Truthy() == decides {
				return Constant(bson.Bool(decides)), nil
			}
		}
		return p.fold(&junction{op.Name, decides, args})
	}
}

func (j *junction) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	for _, e := range j.args {
		v, err := e.Eval(env, doc, s)
		if err != nil {
			return v, err
		}
		if v.Truthy() == j.decides {
			return bson.Bool(j.decides), nil
		}
	}
	return bson.Bool(!j.decides), nil
}

func (j *junction) children(add func(Expr)) {
	for _, e := range j.args {
		add(e)
	}
}

func (j *junction) Paths(add func(string)) { pathsOf(j, add) }

func (j *junction) Append(b *bson.Builder, name string) {
	(&call{name: j.name, args: j.args}).Append(b, name)
}

// Conjuncts returns the operands of $and, or e itself: the planner looks for
// comparisons among them.
func Conjuncts(e Expr) []Expr {
	if j, ok := e.(*junction); ok && !j.decides {
		return j.args
	}
	return []Expr{e}
}

// Comparison takes {$eq: ["$path", constant]} and its kin apart, with the
// constant on the right; op is "$eq", "$gt", …
func Comparison(e Expr) (op, path string, v bson.Value, ok bool) {
	c, isCall := e.(*call)
	if !isCall || len(c.args) != 2 {
		return
	}
	op = c.name
	left, right := c.args[0], c.args[1]
	v, constant := IsConstant(right)
	if !constant {
		if v, constant = IsConstant(left); !constant {
			return
		}
		left = right
		switch op {
		case "$gt":
			op = "$lt"
		case "$gte":
			op = "$lte"
		case "$lt":
			op = "$gt"
		case "$lte":
			op = "$gte"
		}
	}
	switch op {
	case "$eq", "$gt", "$gte", "$lt", "$lte":
	default:
		return
	}
	path, ok = FieldPath(left)
	return op, path, v, ok
}

// not is $not.
func not(_ *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
	return bson.Bool(!a[0].Truthy()), nil
}
