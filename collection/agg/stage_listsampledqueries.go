package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageListSampledQueries = info(StageDef{Name: "$listSampledQueries", Constraints: onAdmin,
	Privileges: []Privilege{{Action: "listSampledQueries", On: OnCluster}}, Since: "7.0", Doc: "reference/operator/aggregation/listSampledQueries"}, checkSampledQueries)

func checkSampledQueries(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(6876001, "$listSampledQueries must take a nested object but found: %s", v.Type)
	}
	return checkOptions("$listSampledQueries", d, 40415, option{"namespace", bson.TypeString})
}
