package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var accSum = AccumulatorDef{Name: "$sum", Parse: unary(startSum), Doc: "reference/operator/aggregation/sum"}

func startSum(*mql.Env) valueState { return &sumState{} }

// sumState adds numbers and ignores everything else.
type sumState struct{ total }

func (t *sumState) take(_ *mql.Env, v bson.Value) (int, error) {
	t.add(v)
	return 0, nil
}

func (t *sumState) drop(_ *mql.Env, v bson.Value) error {
	t.sub(v)
	return nil
}

func (t *sumState) Merge(_ *mql.Env, partial bson.Value) (int, error) {
	o, ok := readTotal(partial)
	if !ok {
		return 0, badPartial("$sum")
	}
	t.merge(&o)
	return 0, nil
}

func (t *sumState) Partial(b *bson.Builder, name string) { t.partial(b, name) }

func (t *sumState) Result(_ *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	b.Value(name, t.value(&s.Arena))
	return nil
}
