package update

import "github.com/cantledb/cantle/bson"

// extremeAction is the effect of $min and $max at a path: the operand replaces a missing value, and an old value that
// is above it (sign -1, $min) or below it (sign 1, $max) in the BSON comparison order.
type extremeAction struct {
	value bson.Value
	sign  int
}

func (extremeAction) traits() traits { return creates }

func (e extremeAction) apply(a *applier, _ *node, old bson.Value) (bson.Value, outcome, error) {
	if old.IsMissing() || bson.Compare(e.value, old, a.env.Order())*e.sign > 0 {
		return e.value, set, nil
	}
	return old, keep, nil
}
