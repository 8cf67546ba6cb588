package cosmos

// indexKinds lists the kinds of index of the service.
var indexKinds = []Row{
	{Name: "1, -1", In: All, Remark: "Single field, compound and multikey."},
	{Name: "2d", In: Never},
	{Name: "2dsphere", In: All},
	{Name: "hashed", In: Never, Remark: "The key of shardCollection is hashed."},
	{Name: "text", In: Never},
	{Name: "wildcard", In: All, Source: "indexing"},
}
