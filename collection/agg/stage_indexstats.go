package agg

import (
	"github.com/cantledb/cantle/bson"
)

var stageIndexStats = StageDef{Name: "$indexStats", Parse: parseInfo(checkIndexStats), Skim: skimInfo, Constraints: ofCollection,
	Privileges: []Privilege{{Action: "indexStats", On: OnInput}}, Unstable: always, Doc: "reference/operator/aggregation/indexStats"}

func checkIndexStats(v bson.Value) error { return checkEmpty("$indexStats", 28803)(v) }
