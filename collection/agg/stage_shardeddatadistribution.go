package agg

var stageShardedData = info(StageDef{Name: "$shardedDataDistribution", Constraints: onAdmin,
	Privileges: []Privilege{{Action: "shardedDataDistribution", On: OnCluster}}, Since: "6.0", Doc: "reference/operator/aggregation/shardedDataDistribution"}, checkEmpty("$shardedDataDistribution", 6789100))
