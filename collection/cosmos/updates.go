package cosmos

// updates lists the update operators of Azure Cosmos DB, each with the server versions that have it.
var updates = []Row{
	{Name: "$addToSet", In: All},
	{Name: "$bit", In: All},
	{Name: "$currentDate", In: All},
	{Name: "$inc", In: All},
	{Name: "$max", In: All},
	{Name: "$min", In: All},
	{Name: "$mul", In: All},
	{Name: "$pop", In: All},
	{Name: "$pull", In: All},
	{Name: "$pullAll", In: All},
	{Name: "$push", In: All},
	{Name: "$pushAll", In: All, Remark: "Removed from MongoDB in 3.6."},
	{Name: "$rename", In: All},
	{Name: "$set", In: All},
	{Name: "$setOnInsert", In: All},
	{Name: "$unset", In: All},
}
