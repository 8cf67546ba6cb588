package agg

import (
	"github.com/cantledb/cantle/bson"
)

var stageIndexStats = info(StageDef{Name: "$indexStats", Constraints: ofCollection,
	Privileges: []Privilege{{Action: "indexStats", On: OnInput}}, Unstable: always, Doc: "reference/operator/aggregation/indexStats"}, checkIndexStats)

func checkIndexStats(v bson.Value) error { return checkEmpty("$indexStats", 28803)(v) }
