package expr

import (
	"math/rand/v2"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// random is $rand: a double in [0, 1), new for each evaluation.
type random struct{}

func parseRand(_ *parser, _ *Operator, v bson.Value) (Expr, error) {
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		return nil, mongoerr.New(10065, "invalid parameter: expected an object ($rand)")
	}
	if !bson.Raw(v.Data).IsEmpty() {
		return nil, mongoerr.New(3040501, "$rand does not currently accept arguments")
	}
	return &random{}, nil
}

func (*random) Eval(_ *mql.Env, _ bson.Raw, s *Scratch) (bson.Value, error) {
	return s.Double(rand.Float64()), nil
}

func (*random) Paths(func(string)) {}

func (*random) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$rand")
	b.End()
	b.End()
}
