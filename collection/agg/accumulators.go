package agg

// Accumulators is the table of the accumulators of $group, $bucket, $bucketAuto
// and $setWindowFields, in alphabetical order.
var Accumulators = []AccumulatorDef{
	accAccumulator,
	accAddToSet,
	accAvg,
	accBottom,
	accBottomN,
	accConcatArrays,
	accCount,
	accFirst,
	accFirstN,
	accLast,
	accLastN,
	accMax,
	accMaxN,
	accMedian,
	accMergeObjects,
	accMin,
	accMinN,
	accPercentile,
	accPush,
	accSetUnion,
	accStdDevPop,
	accStdDevSamp,
	accSum,
	accTop,
	accTopN,
}
