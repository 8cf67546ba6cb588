package cosmos

// accumulators lists the accumulators of the service.
var accumulators = []Row{
	{Name: "$addToSet", In: All},
	{Name: "$avg", In: All},
	{Name: "$first", In: All},
	{Name: "$last", In: All},
	{Name: "$max", In: All},
	{Name: "$mergeObjects", In: All},
	{Name: "$min", In: All},
	{Name: "$push", In: All},
	{Name: "$stdDevPop", In: All},
	{Name: "$stdDevSamp", In: All},
	{Name: "$sum", In: All},
}
