package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageQuerySettings = info(StageDef{Name: "$querySettings", Constraints: onDatabase,
	Privileges: []Privilege{{Action: "querySettings", On: OnCluster}}, NoSettings: true, Since: "8.0", Doc: "reference/operator/aggregation/querySettings"}, checkQuerySettings)

func checkQuerySettings(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(7746800, "$querySettings stage expects a document as argument")
	}
	if v, ok := d.Lookup("showDebugQueryShape"); ok && v.IsNullish() {
		return mongoerr.WrongType("$querySettings.showDebugQueryShape", v.Type.String(), "bool")
	}
	return checkOptions("$querySettings", d, 40415, option{"showDebugQueryShape", bson.TypeBool})
}
