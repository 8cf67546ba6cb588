package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// arithmeticAction is the effect of $inc and $mul at a path: the sum or product of the old number and the operand.
// An int32 that overflows becomes an int64; an int64 that overflows is an error.
type arithmeticAction struct {
	name    string
	operand bson.Value
	// missing is the result for a missing field.
	missing bson.Value
	combine func(a *bson.Arena, x, y bson.Value) (bson.Value, error)
}

func parseArithmetic(op *arithmeticAction, verb string, at *fieldPath) (action, error) {
	if !op.operand.IsNumber() {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "Cannot %s with non-numeric argument: {%s: %s}", verb, at.text, shown(op.operand))
	}
	return op, nil
}

func (op *arithmeticAction) traits() traits { return creates }

func (op *arithmeticAction) apply(a *applier, n *node, old bson.Value) (bson.Value, outcome, error) {
	if old.IsMissing() {
		return op.missing, set, nil
	}
	if !old.IsNumber() {
		return old, keep, mongoerr.New(mongoerr.TypeMismatch,
			"Cannot apply %s to a value of non-numeric type. %s has the field '%s' of non-numeric type %s", op.name, a.docID(), n.name, old.Type)
	}
	v, err := op.combine(&a.s.Arena, old, op.operand)
	if err != nil {
		return old, keep, err
	}
	if v.Type == bson.TypeDouble && isInteger(old) && isInteger(op.operand) {
		return old, keep, mongoerr.New(mongoerr.BadValue,
			"Failed to apply %s operations to current value (%s) for document %s", op.name, old, a.docID())
	}
	if v.Type == old.Type && bson.CompareNumbers(v, old) == 0 {
		return old, keep, nil // -0 and 1.00 keep their representation
	}
	return v, set, nil
}

func isInteger(v bson.Value) bool { return v.Type == bson.TypeInt32 || v.Type == bson.TypeInt64 }

// multiplyZero returns the result of $mul for a missing field: zero of the type of the operand v.
func multiplyZero(v bson.Value) bson.Value {
	var a bson.Arena
	switch v.Type {
	case bson.TypeInt32:
		return a.Int32(0)
	case bson.TypeInt64:
		return a.Int64(0)
	case bson.TypeDouble:
		return a.Double(0)
	case bson.TypeDecimal128:
		return a.Decimal(bson.ComposeDecimal(false, 0, 0, 0))
	}
	return bson.Value{}
}
