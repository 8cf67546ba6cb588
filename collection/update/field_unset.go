package update

import "github.com/cantledb/cantle/bson"

var opUnset = Operator{Name: "$unset", parse: parseUnset, Doc: "reference/operator/update/unset"}

func parseUnset(*parser, *fieldPath, bson.Value) (action, error) { return unsetAction{}, nil }

// unsetAction removes a field; an array element becomes null.
type unsetAction struct{}

func (unsetAction) traits() traits { return tolerant }

func (unsetAction) apply(_ *applier, _ *node, old bson.Value) (bson.Value, outcome, error) {
	if old.IsMissing() {
		return old, keep, nil
	}
	return bson.Value{}, remove, nil
}
