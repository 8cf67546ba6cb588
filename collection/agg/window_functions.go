package agg

// WindowFunctions is the table of the functions that only $setWindowFields has, in alphabetical order; the Accumulators
// without OnlyGroups work there as well.
var WindowFunctions = []WindowFunctionDef{
	winCovariancePop,
	winCovarianceSamp,
	winDenseRank,
	winDerivative,
	winDocumentNumber,
	winExpMovingAvg,
	winIntegral,
	winLinearFill,
	winLocf,
	winMinMaxScaler,
	winRank,
	winShift,
}
