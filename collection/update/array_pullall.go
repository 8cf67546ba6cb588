package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/mongoerr"
)

var opPullAll = Operator{Name: "$pullAll", parse: parsePullAll, Doc: "reference/operator/update/pullAll"}

func parsePullAll(_ *parser, _ *fieldPath, arg bson.Value) (action, error) {
	list, ok := arg.Array()
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue, "$pullAll requires an array argument but was given a %s", arg.Type)
	}
	return cullAction{func(a *applier, v bson.Value) (bool, error) {
		for it := list.Iter(); it.Next(); {
			if bson.Equal(v, it.Value, a.env.Order()) {
				return true, nil
			}
		}
		return false, nil
	}}, nil
}
