package cosmos

// variables lists the system variables of MongoDB, without the dollar signs, and the versions of the service that
// have them.
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
