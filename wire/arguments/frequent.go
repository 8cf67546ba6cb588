package arguments

// Name returns the name of an argument as a string. For the names that commands use most, it allocates nothing.
func Name(name []byte) string {
	if s, ok := frequent[string(name)]; ok {
		return s
	}
	return string(name)
}

// frequent are the arguments that drivers send often.
var frequent = func(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[n] = n
	}
	return m
}(
	"find", "filter", "sort", "projection", "limit", "skip", "batchSize", "singleBatch", "hint", "collation",
	"insert", "documents", "ordered", "update", "updates", "q", "u", "multi", "upsert", "arrayFilters",
	"delete", "deletes", "aggregate", "pipeline", "cursor", "getMore", "collection", "findAndModify", "query",
	"new", "remove", "fields", "lsid", "txnNumber", "$db", "$clusterTime", "readConcern", "writeConcern",
	"maxTimeMS", "comment", "$readPreference", "autocommit", "startTransaction",
)
