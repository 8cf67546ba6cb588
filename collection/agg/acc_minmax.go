package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	accMax = AccumulatorDef{Name: "$max", Parse: unary(startMax), Doc: "reference/operator/aggregation/max"}
	accMin = AccumulatorDef{Name: "$min", Parse: unary(startMin), Doc: "reference/operator/aggregation/min"}
)

func startMax(env *mql.Env) valueState { return &extremeState{order: env.Order(), sign: 1} }
func startMin(env *mql.Env) valueState { return &extremeState{order: env.Order(), sign: -1} }

// extremeState is the state of $max (sign 1) and $min (sign -1): the greatest or least value that is neither
// null nor missing.
type extremeState struct {
	order bson.StringOrder
	best  bson.Value
	sign  int
}

func (t *extremeState) take(_ *mql.Env, v bson.Value) (grew int, err error) {
	if v.IsNullish() || !t.best.IsMissing() && bson.Compare(v, t.best, t.order)*t.sign <= 0 {
		return 0, nil
	}
	t.best, grew = copyInto(t.best, v)
	return grew, nil
}

func (t *extremeState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	return t.take(env, partial)
}

func (t *extremeState) Partial(b *bson.Builder, name string) { appendOrNull(b, name, t.best) }

func (t *extremeState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	appendOrNull(b, name, t.best)
	return nil
}

// appendOrNull appends v, null if it is missing.
func appendOrNull(b *bson.Builder, name string, v bson.Value) {
	if v.IsMissing() {
		v = bson.Null
	}
	b.Value(name, v)
}
