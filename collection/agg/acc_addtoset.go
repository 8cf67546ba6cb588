package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var accAddToSet = AccumulatorDef{Name: "$addToSet", Parse: unary(startAddToSet), Doc: "reference/operator/aggregation/addToSet"}

func startAddToSet(*mql.Env) valueState { return &setState{name: "$addToSet"} }

// setState is the state of $addToSet, and of $setUnion for the elements of arrays: the distinct values of a group that
// are not missing, in the order of their first occurrence.
type setState struct {
	name string
	seen map[string]struct{}
	list valueList
	key  []byte
}

func (t *setState) take(env *mql.Env, v bson.Value) (int, error) {
	if v.IsMissing() {
		return 0, nil
	}
	t.key = keystring.Append(t.key[:0], v, keystring.Ascending, env.Order(), nil)
	if _, ok := t.seen[string(t.key)]; ok {
		return 0, nil
	}
	if t.seen == nil {
		t.seen = map[string]struct{}{}
	}
	t.seen[string(t.key)] = struct{}{}
	n, err := t.list.add(t.name, v)
	return n + len(t.key) + 32, err
}

func (t *setState) Merge(env *mql.Env, partial bson.Value) (grew int, err error) {
	a, ok := partial.Array()
	if !ok {
		return 0, badPartial(t.name)
	}
	for it := a.Iter(); it.Next(); {
		n, err := t.take(env, it.Value)
		if err != nil {
			return grew, err
		}
		grew += n
	}
	return grew, nil
}

func (t *setState) Partial(b *bson.Builder, name string) { t.list.append(b, name) }

func (t *setState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	t.list.append(b, name)
	return nil
}
