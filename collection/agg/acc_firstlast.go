package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	accFirst = AccumulatorDef{Name: "$first", Parse: unary(startFirst), Ordered: true, Doc: "reference/operator/aggregation/first"}
	accLast  = AccumulatorDef{Name: "$last", Parse: unary(startLast), Ordered: true, Doc: "reference/operator/aggregation/last"}
)

func startFirst(*mql.Env) valueState { return &edgeState{} }
func startLast(*mql.Env) valueState  { return &edgeState{last: true} }

// edgeState is the state of $first, or with last of $last: one value.
type edgeState struct {
	v        bson.Value
	hasValue bool
	last     bool
}

func (t *edgeState) take(_ *mql.Env, v bson.Value) (grew int, err error) {
	if t.hasValue && !t.last {
		return 0, nil
	}
	t.hasValue = true
	t.v, grew = copyInto(t.v, v)
	return grew, nil
}

// Merge adds a partial state: [] if it has no value, [v] for the value v.
func (t *edgeState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	a, ok := partial.Array()
	if !ok {
		return 0, badPartial("$first")
	}
	v, some := a.Index(0)
	if !some {
		return 0, nil
	}
	return t.take(env, v)
}

func (t *edgeState) Partial(b *bson.Builder, name string) {
	b.BeginArray(name)
	if t.hasValue {
		appendOrNull(b, "", t.v)
	}
	b.End()
}

func (t *edgeState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	appendOrNull(b, name, t.v)
	return nil
}
