package update

import "github.com/cantledb/cantle/bson"

var opMin = Operator{Name: "$min", parse: parseMin, Doc: "reference/operator/update/min"}

func parseMin(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	return extremeAction{arg, -1}, checkValue(at, arg)
}
