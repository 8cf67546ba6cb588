package cosmos

// projections lists the projection operators of the service.
var projections = []Row{
	{Name: "$elemMatch", In: All},
	{Name: "$meta", In: Never},
	{Name: "$slice", In: All},
}
