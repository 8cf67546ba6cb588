package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	accConcatArrays = AccumulatorDef{Name: "$concatArrays", Parse: unary(startConcatArrays), Ordered: true, Since: "8.1", Doc: "reference/operator/aggregation/concatArrays"}
	accSetUnion     = AccumulatorDef{Name: "$setUnion", Parse: unary(startSetUnion), Since: "8.1", Doc: "reference/operator/aggregation/setUnion"}
)

func startConcatArrays(*mql.Env) valueState { return &concatState{name: "$concatArrays"} }
func startSetUnion(*mql.Env) valueState {
	return &concatState{name: "$setUnion", set: &setState{name: "$setUnion"}}
}

// concatState is the state of $concatArrays, which collects the elements of arrays; with set, of $setUnion,
// which keeps only distinct elements.
type concatState struct {
	name string
	list valueList
	set  *setState
}

func (t *concatState) take(env *mql.Env, v bson.Value) (grew int, err error) {
	if v.IsMissing() {
		return 0, nil
	}
	a, ok := v.Array()
	if !ok {
		return 0, mongoerr.New(mongoerr.TypeMismatch, "%s requires array inputs, but input is of type %s", t.name, v.Type)
	}
	for it := a.Iter(); it.Next(); {
		n := 0
		if t.set != nil {
			n, err = t.set.take(env, it.Value)
		} else {
			n, err = t.list.add(t.name, it.Value)
		}
		if err != nil {
			return grew, err
		}
		grew += n
	}
	return grew, nil
}

func (t *concatState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	return t.take(env, partial)
}

func (t *concatState) Partial(b *bson.Builder, name string) {
	if t.set != nil {
		t.set.list.append(b, name)
	} else {
		t.list.append(b, name)
	}
}

func (t *concatState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	t.Partial(b, name)
	return nil
}
