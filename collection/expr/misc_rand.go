package expr

import (
	"math/rand/v2"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// parseRand parses $rand: a double in [0, 1), new at each evaluation.
func parseRand(_ *parser, op *Operator, v bson.Value) (Expr, error) {
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		return nil, mongoerr.New(10065, "invalid parameter: expected an object ($rand)")
	}
	if !bson.Raw(v.Data).IsEmpty() {
		return nil, mongoerr.New(3040501, "$rand does not currently accept arguments")
	}
	return &volatile{op.Name, func(_ *mql.Env, s *Scratch) bson.Value { return s.Double(rand.Float64()) }}, nil
}
