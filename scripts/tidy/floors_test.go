package tidy

// floors are the top-level folders, the lowest first: no package of a floor imports one of a higher floor. Folders in
// one row are on the same floor, and do not import each other either.
var floors = [][]string{{"bson", "docs", "ratelimit", "storage"}, {"collection"}, {"shard"}, {"wire"}, {"serve"}, {"cmd"}, {"."}, {"cantletest"}}

// separations are imports that the floors would allow and the design does not: packages of from may not import those
// of to. Both mean a package with everything below it; the package but, if it is not "", may still be imported.
var separations = []struct{ from, to, but, why string }{
	{"bson", "collection", "", "values belong to no namespace"},
	{"bson", "wire", "", "values are independent of commands and error codes; the package returns its own sentinels"},
	{"storage", "bson", "", "a store keeps bytes under ordered bytes; what they mean is decided above"},
	{"storage", "collection", "", "a store has keys, and no namespaces"},
	{"storage", "wire", "", "a store is independent of commands and error codes; shard/cluster translates its sentinels"},
	{"serve", "storage/tikvkv", "", "an embedded server would bring the client of TiKV along; the program adds the engine"},
	{"wire/server", "collection", "collection/mongoerr", "the connection loop hands messages to a Handler and has no other task"},
	{"wire/server", "shard", "", "the connection loop hands messages to a Handler and has no other task"},
	{"wire/server", "storage", "", "the connection loop hands messages to a Handler and has no other task"},
	{"wire/server", "wire/command", "", "wire/command stands behind server.Handler"},
	{"wire/server", "wire/rooms", "", "wire/rooms stands behind server.Handler"},
}
