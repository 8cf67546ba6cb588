package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageQueryStats = info(StageDef{Name: "$queryStats", Constraints: onAdmin,
	Privileges: []Privilege{{Action: "queryStatsRead", On: OnCluster}}, Since: "8.0", Doc: "reference/operator/aggregation/queryStats"}, checkQueryStats)

func checkQueryStats(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.FailedToParse, "$queryStats value must be an object. Found: %s", v.Type)
	}
	return checkOptions("$queryStats", d, 40415, option{"transformIdentifiers", bson.TypeDocument})
}
