package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// junction is $and or $or: it stops at the first operand that determines the result.
type junction struct {
	name    string
	decides bool // the truth value that ends the evaluation
	args    []Expr
}

// parseJunction returns the parse function of $and (decides false) and $or.
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

// not is $not.
func not(_ *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
	return bson.Bool(!a[0].Truthy()), nil
}
