package update

import "github.com/cantledb/cantle/bson"

var opMax = Operator{Name: "$max", parse: parseMax, Doc: "reference/operator/update/max"}

func parseMax(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	return extremeAction{arg, 1}, checkValue(at, arg)
}
