package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
)

var opMul = Operator{Name: "$mul", parse: parseMul, Doc: "reference/operator/update/mul"}

func parseMul(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	return parseArithmetic(&arithmeticAction{name: "$mul", operand: arg, missing: multiplyZero(arg), combine: expr.Multiply}, "multiply", at)
}
