package update

import "github.com/cantledb/cantle/bson"

var opSet = Operator{Name: "$set", parse: parseSet, Doc: "reference/operator/update/set"}

func parseSet(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	return setAction{arg, creates}, checkValue(at, arg)
}

// setAction stores a value.
type setAction struct {
	value bson.Value
	can   traits
}

func (s setAction) traits() traits { return s.can }

func (s setAction) apply(*applier, *node, bson.Value) (bson.Value, outcome, error) {
	return s.value, set, nil
}
