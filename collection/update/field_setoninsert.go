package update

import "github.com/cantledb/cantle/bson"

var opSetOnInsert = Operator{Name: "$setOnInsert", parse: parseSetOnInsert, Doc: "reference/operator/update/setOnInsert"}

func parseSetOnInsert(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	return setAction{arg, creates | onInsert}, checkValue(at, arg)
}
