package agg

// Accumulators is the table of the accumulators of $group, $bucket, $bucketAuto
// and $setWindowFields, in alphabetical order.
var Accumulators = []AccumulatorDef{
	accAddToSet,
	accAvg,
	accCount,
	accFirst,
	accLast,
	accMax,
	accMin,
	accPush,
	accSum,
}
