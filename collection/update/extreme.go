package update

import "github.com/cantledb/cantle/bson"

// extremeAction is $min and $max: it stores a value that is below (sign -1) or
// above (sign 1) the old one in the comparison order.
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
