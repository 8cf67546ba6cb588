package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var accCount = AccumulatorDef{Name: "$count", Parse: parseCountAccumulator, Since: "5.0", Doc: "reference/operator/aggregation/count-accumulator"}

// parseCountAccumulator reads {$count: {}}, which is {$sum: 1}.
func parseCountAccumulator(_ *parser, _ string, v bson.Value) (Func, error) {
	if d, ok := v.Doc(); !ok || !d.IsEmpty() {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "$count takes no arguments, i.e. $count:{}")
	}
	return &unaryFunc{"$sum", expr.Constant(bson.Value{Type: bson.TypeInt32, Data: []byte{1, 0, 0, 0}}), startSum}, nil
}
