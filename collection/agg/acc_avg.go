package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var accAvg = AccumulatorDef{Name: "$avg", Parse: unary(startAvg), Doc: "reference/operator/aggregation/avg"}

func startAvg(*mql.Env) valueState { return &avgState{} }

// avgState averages numbers and ignores everything else; without any it is null.
type avgState struct {
	total
	count int64
}

func (t *avgState) take(_ *mql.Env, v bson.Value) (int, error) {
	if t.add(v) {
		t.count++
	}
	return 0, nil
}

func (t *avgState) drop(_ *mql.Env, v bson.Value) error {
	if v.IsNumber() {
		t.sub(v)
		t.count--
	}
	return nil
}

func (t *avgState) Merge(_ *mql.Env, partial bson.Value) (int, error) {
	d, _ := partial.Doc()
	o, ok := readTotal(d.Get("sum"))
	n, ok2 := d.Get("count").Int64()
	if !ok || !ok2 {
		return 0, badPartial("$avg")
	}
	t.merge(&o)
	t.count += n
	return 0, nil
}

func (t *avgState) Partial(b *bson.Builder, name string) {
	b.BeginDoc(name)
	t.partial(b, "sum")
	b.Int64("count", t.count)
	b.End()
}

func (t *avgState) Result(_ *mql.Env, b *bson.Builder, name string, s *expr.Scratch) error {
	switch {
	case t.count == 0:
		b.Null(name)
	case t.widest == 3:
		b.Value(name, s.Decimal(decimal.Quo(t.asDecimal(), decimal.FromInt64(t.count))))
	default:
		b.Double(name, t.asFloat()/float64(t.count))
	}
	return nil
}
