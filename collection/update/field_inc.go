package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
)

var opInc = Operator{Name: "$inc", parse: parseInc, Doc: "reference/operator/update/inc"}

func parseInc(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	return parseArithmetic(&arithmeticAction{name: "$inc", operand: arg, missing: arg, combine: expr.Add}, "increment", at)
}
