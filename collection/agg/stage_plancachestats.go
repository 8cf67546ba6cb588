package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stagePlanCacheStats = info(StageDef{Name: "$planCacheStats", Constraints: ofCollection,
	Privileges: []Privilege{{Action: "planCacheRead", On: OnInput}}, ReadLevel: "local", Unstable: always, Since: "4.2", Doc: "reference/operator/aggregation/planCacheStats"}, checkPlanCacheStats)

func checkPlanCacheStats(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.FailedToParse, "$planCacheStats value must be an object. Found: %s", v.Type)
	}
	for it := d.Iter(); it.Next(); {
		if string(it.Name) != "allHosts" {
			return mongoerr.New(mongoerr.FailedToParse, "$planCacheStats parameters object may contain only 'allHosts' field. Found: %s", it.Name)
		}
		all, ok := it.Value.Boolean()
		if !ok {
			return mongoerr.New(13111, "Field 'allHosts' should be a boolean value, but found: %s", it.Value.Type)
		}
		if all {
			return mongoerr.New(4503200, "$planCacheStats stage supports allHosts parameter only for sharded clusters")
		}
	}
	return nil
}
