package agg

var stageShardedData = StageDef{Name: "$shardedDataDistribution", Parse: parseInfo(checkEmpty("$shardedDataDistribution", 6789100)), Skim: skimInfo, Constraints: onAdmin,
	Privileges: []Privilege{{Action: "shardedDataDistribution", On: OnCluster}}, Since: "6.0", Doc: "reference/operator/aggregation/shardedDataDistribution"}
