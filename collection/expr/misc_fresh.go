package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// volatile is an operator without arguments that has a new value at each evaluation, and so is not folded:
// $rand, $createObjectId, $createUUID or $currentDate.
type volatile struct {
	name  string // operator
	value func(*mql.Env, *Scratch) bson.Value
}

// parseVolatile returns the parse function of an operator with the argument {}.
//
// Errors: FailedToParse.
func parseVolatile(value func(*mql.Env, *Scratch) bson.Value) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(_ *parser, op *Operator, v bson.Value) (Expr, error) {
		if d, ok := v.Doc(); !ok || !d.IsEmpty() {
			return nil, mongoerr.New(mongoerr.FailedToParse, "%s takes no arguments: its operand must be an empty object, not %s", op.Name, show(v))
		}
		return &volatile{op.Name, value}, nil
	}
}

func (f *volatile) Eval(env *mql.Env, _ bson.Raw, s *Scratch) (bson.Value, error) {
	env.NoteRandom()
	return f.value(env, s), nil
}

func (*volatile) Paths(func(string)) {}

func (f *volatile) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(f.name)
	b.End()
	b.End()
}
