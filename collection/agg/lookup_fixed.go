package agg

import (
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
)

// fixedComparisons appends to out the comparisons of a field with a constant that a condition of a sub-pipeline requires
// in an $expr, also inside $and: {$gte: ["$t", 900]} beside an equality with a variable of the row. They are the same for
// all rows, so that the read of a batch can evaluate them, and they cannot fail, although that read evaluates them before
// other operands of the $and. The condition itself stays in the sub-pipeline.
func fixedComparisons(c match.Node, out []match.Node) []match.Node {
	if n, ok := c.(*match.Expr); ok {
		return fixedOperands(n.Expression(), out)
	}
	return out
}

func fixedOperands(e expr.Expr, out []match.Node) []match.Node {
	op, operands := expr.Operation(e)
	switch op {
	case "$and":
		for _, o := range operands {
			out = fixedOperands(o, out)
		}
	case "$eq", "$gt", "$gte", "$lt", "$lte":
		if len(operands) == 2 && (isFieldAndConstant(operands[0], operands[1]) || isFieldAndConstant(operands[1], operands[0])) {
			out = append(out, match.OfExpression(e))
		}
	}
	return out
}

func isFieldAndConstant(field, constant expr.Expr) bool {
	_, isField := expr.FieldOf(field)
	_, isConstant := expr.IsConstant(constant)
	return isField && isConstant
}
