package tidy

import "slices"

// levels lists packages by import level: a package imports only packages of a lower level. A new package gets the
// lowest level that is above everything it imports.
var levels = [][]string{
	0:  {"bson", "cmd/cantle/columns", "cmd/cantle/journal", "cmd/cantle/namespaces", "collection/mongoerr", "collection/release", "ratelimit", "serve/flags", "serve/visitors", "storage"},
	1:  {"bson/decimal", "bson/ejson", "bson/keystring", "bson/path", "cmd/cantle/dumps", "cmd/cantle/manual", "cmd/cantle/top", "collection", "collection/cosmos", "collection/geo", "collection/text", "storage/keyspace", "storage/pebblekv/wreck", "storage/writebuf", "wire", "wire/concern", "wire/defects"},
	2:  {"bson/bsontest", "cmd/cantle/gateways", "cmd/cantle/progress", "cmd/cantle/records", "collection/mql", "collection/shard", "shard/quota", "shard/survey", "storage/faultkv", "storage/memkv", "storage/pebblekv", "storage/storagetest", "storage/tikvkv", "wire/arguments", "wire/kept"},
	3:  {"cmd/cantle/shardkeys", "collection/changelog", "collection/expr", "collection/order", "shard/duty", "shard/intents", "shard/tally", "shard/traffic", "storage/backup"},
	4:  {"collection/match"},
	5:  {"collection/index", "collection/project"},
	6:  {"cmd/cantle/account", "cmd/cantle/workload", "collection/catalog", "collection/update"},
	7:  {"collection/plan", "collection/salvage", "collection/verify", "collection/write", "shard/history", "shard/router"},
	8:  {"collection/changestream", "collection/exec", "collection/rewind"},
	9:  {"collection/agg", "shard/jobs"},
	10: {"shard/balance", "shard/checkup", "shard/cluster"},
	11: {"shard/ddl", "wire/auth", "wire/explained", "wire/session", "wire/virtual"},
	12: {"serve/certificates", "wire/cursor", "wire/operations"},
	13: {"wire/command"},
	14: {"serve/console", "serve/tracing", "wire/command/access", "wire/command/data", "wire/command/failpoint", "wire/command/plans", "wire/command/schema", "wire/command/sessions", "wire/command/settings", "wire/command/shards", "wire/command/status", "wire/server"},
	15: {"wire/rooms"},
	16: {"serve/daemon"},
	17: {".", "cmd/cantle/doctor", "cmd/cantle/lint", "cmd/cantle/tikvengine"},
	18: {"cantletest", "cmd/cantle/cli"},
	19: {"cmd/cantle"},
}

// levelOf returns the level of a package; ok is false for one without a row. The rig is above everything.
func levelOf(dir string) (level int, ok bool) {
	if isRig(dir) {
		return len(levels), true
	}
	for level, row := range levels {
		if slices.Contains(row, dir) {
			return level, true
		}
	}
	return 0, false
}

// floors are the top-level folders, the lowest first: no package of a floor imports one of a higher floor.
// Folders in one row do not import each other either.
var floors = [][]string{{"bson", "ratelimit", "storage"}, {"collection"}, {"shard"}, {"wire"}, {"serve"}, {"cmd"}, {"."}, {"cantletest"}}

// separations are imports that the levels would allow and the design does not. from and to are packages with
// everything below them; but is a package below to that may still be imported, "" for none.
var separations = []struct{ from, to, but, why string }{
	{"bson", "collection", "", "the value room knows no namespace"},
	{"bson", "wire", "", "the value room knows no command and no error code; it returns its own sentinels"},
	{"storage", "bson", "", "a store keeps bytes under ordered bytes; what they mean is decided above"},
	{"storage", "collection", "", "a store knows no namespace"},
	{"storage", "wire", "", "a store knows no command and no error code; shard/cluster translates its sentinels"},
	{"serve", "storage/tikvkv", "", "an embedded server would bring the client of TiKV along; the program adds the engine"},
	{"wire/server", "collection", "collection/mongoerr", "the connection loop hands messages to a Handler and knows nothing else"},
	{"wire/server", "shard", "", "the connection loop hands messages to a Handler and knows nothing else"},
	{"wire/server", "storage", "", "the connection loop hands messages to a Handler and knows nothing else"},
	{"wire/server", "wire/command", "", "wire/command stands behind server.Handler"},
	{"wire/server", "wire/rooms", "", "wire/rooms stands behind server.Handler"},
}
