package cosmos

// variables lists the system variables of Azure Cosmos DB, without the dollar signs, each with the server versions
// that have it.
var variables = []Row{
	{Name: "CLUSTER_TIME", In: Since42, Remark: "Documented as $$CLUSTERTIME."},
	{Name: "CURRENT", In: All},
	{Name: "DESCEND", In: All},
	{Name: "KEEP", In: All},
	{Name: "NOW", In: Since42},
	{Name: "PRUNE", In: All},
	{Name: "REMOVE", In: All},
	{Name: "ROOT", In: All},
}
