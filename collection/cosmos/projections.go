package cosmos

// projections lists those of the service.
var projections = []Row{
	{Name: "$elemMatch", In: All},
	{Name: "$meta", In: Never},
	{Name: "$slice", In: All},
}
