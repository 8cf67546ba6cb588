package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var accAvg = AccumulatorDef{Name: "$avg", Parse: unary(startAvg), Doc: "reference/operator/aggregation/avg"}

func startAvg(*mql.Env) valueState { return &avgState{} }

// avgState is the state of $avg: it averages numbers and ignores all other values; without numbers the result
// is null.
type avgState struct {
	sum  expr.Summation
	wide wideCount
}

func (t *avgState) take(_ *mql.Env, v bson.Value) (int, error) {
	if t.sum.AddRounded(v) {
		t.wide.add(v.Type)
	}
	return 0, nil
}

func (t *avgState) drop(_ *mql.Env, v bson.Value) bool {
	return t.wide.remove(v.Type) && t.sum.Remove(v)
}

func (t *avgState) Merge(_ *mql.Env, partial bson.Value) (int, error) {
	return mergeSum(&t.sum, partial)
}

func (t *avgState) Partial(b *bson.Builder, name string) {
	b.BeginDoc(name)
	t.sum.Append(b)
	b.End()
}

func (t *avgState) Result(_ *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	b.Value(name, t.sum.Average(&s.Arena))
	return nil
}
