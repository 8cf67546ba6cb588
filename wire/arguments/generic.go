package arguments

// Generic reports whether an argument is one that every command takes, such as lsid or comment; the chain in
// wire/command reads these arguments. Spec: driver-sessions, versioned-api, max-staleness and others.
func Generic(name string) bool {
	switch name {
	case "$db", "lsid", "txnNumber", "autocommit", "startTransaction", "stmtId", "stmtIds", "$readPreference",
		"readConcern", "writeConcern", "maxTimeMS", "maxRequestUnits", "comment", "apiVersion", "apiStrict", "apiDeprecationErrors",
		"$clusterTime", "$client", "$configServerState", "databaseVersion", "shardVersion", "$audit", "$queryOptions",
		"maxTimeMSOpOnly", "mayBypassWriteBlocking", "rawData", "$replData", "$oplogQueryData", "expectPrefix",
		"serialization_context", "$_backpressure", "coordinator", "recoveryToken":
		return true
	}
	return false
}
