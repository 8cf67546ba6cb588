package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var accSum = AccumulatorDef{Name: "$sum", Parse: unary(startSum), Doc: "reference/operator/aggregation/sum"}

func startSum(*mql.Env) valueState { return &sumState{} }

// sumState adds numbers and ignores all other values.
type sumState struct {
	sum  expr.Summation
	wide wideCount
}

func (t *sumState) take(_ *mql.Env, v bson.Value) (int, error) {
	if t.sum.Add(v) {
		t.wide.add(v.Type)
	}
	return 0, nil
}

func (t *sumState) drop(_ *mql.Env, v bson.Value) bool {
	return t.wide.remove(v.Type) && t.sum.Remove(v)
}

// wideCount counts the numbers of the widest number type in a sum. When the last of them, other than int,
// leaves a window, the type of the sum changes, and the window must be added up anew.
type wideCount struct {
	widest bson.Type
	count  int64
}

func (w *wideCount) add(t bson.Type) {
	switch {
	case t == w.widest:
		w.count++
	case w.count == 0 || widerThan(t, w.widest):
		w.widest, w.count = t, 1
	}
}

// remove subtracts a number of type t that leaves a window. It returns false if the last number of the widest type,
// other than int, has left.
func (w *wideCount) remove(t bson.Type) bool {
	if t == w.widest && w.widest != bson.TypeInt32 {
		w.count--
		return w.count > 0
	}
	return true
}

// widerThan reports whether number type a is wider than b, by promotion: int, long, double, decimal.
func widerThan(a, b bson.Type) bool {
	rank := func(t bson.Type) int {
		switch t {
		case bson.TypeInt32:
			return 1
		case bson.TypeInt64:
			return 2
		case bson.TypeDouble:
			return 3
		}
		return 4
	}
	return rank(a) > rank(b)
}

func (t *sumState) Merge(_ *mql.Env, partial bson.Value) (int, error) {
	return mergeSum(&t.sum, partial)
}

func mergeSum(t *expr.Summation, partial bson.Value) (int, error) {
	d, ok := partial.Doc()
	if !ok {
		return 0, badPartial("$sum")
	}
	o := expr.ReadSummation(d)
	t.Merge(&o)
	return 0, nil
}

func (t *sumState) Partial(b *bson.Builder, name string) {
	b.BeginDoc(name)
	t.sum.Append(b)
	b.End()
}

func (t *sumState) Result(_ *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	b.Value(name, t.sum.Sum(&s.Arena))
	return nil
}
