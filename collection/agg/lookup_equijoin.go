package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// lookupEqual is an equality of a foreign field with a variable of `let`, which the leading $match of a sub-pipeline
// requires in an $expr. With it, rows are joined in batches as by localField and foreignField. The $match stays in the
// sub-pipeline: the batch finds more documents than the $expr accepts, because an expression compares an array as one
// value.
type lookupEqual struct {
	foreign path.Path
	local   expr.Expr // the value of the variable: a path of the row
	only    bool      // the $expr has no other condition
}

// equalIn returns the first equality of a foreign field with a variable of let in the conditions, nil if there is none.
// If CURRENT is defined anew, a field path is a variable's, and no equality.
func equalIn(let []letVar, conditions []match.Node) *lookupEqual {
	for _, c := range conditions {
		n, ok := c.(*match.Expr)
		if !ok {
			continue
		}
		if e := equalOf(let, n.Expression()); e != nil {
			op, _ := expr.Operation(n.Expression())
			e.only = op == "$eq"
			return e
		}
	}
	return nil
}

// equalOf looks for an equality in an expression: {$eq: ["$field", "$$variable"]}, also exchanged, and inside $and.
func equalOf(let []letVar, e expr.Expr) *lookupEqual {
	op, operands := expr.Operation(e)
	switch {
	case op == "$and":
		for _, o := range operands {
			if e := equalOf(let, o); e != nil {
				return e
			}
		}
	case op == "$eq" && len(operands) == 2:
		if e := equalOfOperands(let, operands[0], operands[1]); e != nil {
			return e
		}
		return equalOfOperands(let, operands[1], operands[0])
	}
	return nil
}

func equalOfOperands(let []letVar, field, variable expr.Expr) *lookupEqual {
	at, isField := expr.FieldOf(field)
	name, isVariable := expr.VariableOf(variable)
	if !isField || !isVariable {
		return nil
	}
	p, err := path.Compile(at)
	if err != nil || p.HasPosition() {
		return nil
	}
	for i := len(let) - 1; i >= 0; i-- {
		if let[i].name != name {
			continue
		}
		if _, plain := expr.FieldPath(let[i].e); plain {
			return &lookupEqual{foreign: p, local: let[i].e}
		}
		return nil
	}
	return nil
}

// value returns the value that the equality compares with for a row. ok is false for a value for which a query
// operator selects other documents than an expression: null, nothing, arrays, documents, and rare types.
func (e *lookupEqual) value(env *mql.Env, doc bson.Raw, s *expr.Scratch) (v bson.Value, ok bool, err error) {
	v, err = e.local.Eval(env, doc, s)
	switch v.Type {
	case bson.TypeDouble, bson.TypeInt32, bson.TypeInt64, bson.TypeDecimal128, bson.TypeString, bson.TypeObjectID,
		bson.TypeBool, bson.TypeDateTime, bson.TypeTimestamp, bson.TypeBinary:
		return v, err == nil, err
	}
	return v, false, err
}
