package tidy

// doors says which packages may import which library. A library is an import path
// with everything below it; the longest row that fits an import decides.
var doors = []struct {
	path  string
	users []string // packages with everything below them
	why   string
}{
	{"github.com/blevesearch/snowballstem", []string{"collection/text"}, "words become terms in one place, for documents and searches alike"},
	{"github.com/cespare/xxhash/v2", []string{"collection/shard"}, "one place decides what a shard key hashes to"},
	{"github.com/cockroachdb/apd/v3", []string{"bson/decimal", "bson/keystring", "collection/expr"}, "decimal128 arithmetic has one door"},
	{"github.com/cockroachdb/pebble/v2", []string{"cmd", "storage/pebblekv"}, "the engine can be exchanged only if nobody else knows it"},
	{"github.com/dlclark/regexp2/v2", []string{"collection/mql"}, "patterns are compiled in one place, with a time limit"},
	{"github.com/dop251/goja", []string{"collection/expr", "collection/match", "collection/mql"}, "JavaScript runs with bounded time and memory, from one door"},
	{"github.com/golang/geo", []string{"collection/geo"}, "geometry belongs to one package of the document engine"},
	{"github.com/klauspost/compress", []string{"wire", "storage/pebblekv"}, "compression belongs to the frames"},
	{"github.com/prometheus/client_golang", []string{"cmd", "wire"}, "metrics are collected as counts below and exposed at the edge"},
	{"github.com/rs/zerolog", []string{"cmd", "shard/balance", "shard/jobs", "wire/command", "wire/server"}, "deeper code returns errors and counts; it does not log"},
	{"github.com/spf13/pflag", []string{"cmd"}, "flags belong to the program"},
	{"github.com/xdg-go/scram", []string{"wire/auth"}, "authentication has one door"},
	{"github.com/xdg-go/stringprep", []string{"wire/auth"}, "authentication has one door"},
	{"github.com/youmark/pkcs8", []string{"cmd/cantle/daemon"}, "keys are read where the server starts"},
	{"go.mongodb.org/mongo-driver/v2/mongo", []string{"cmd/cantle/cli"}, "verbs of the program talk to a server as any client does"},
	{"go.mongodb.org/mongo-driver/v2", []string{"bson", "bson/ejson"}, "its bsoncore is declared experimental and may change without notice; one door to it"},
	{"golang.org/x/sync", []string{""}, "small and as good as standard"},
	{"golang.org/x/sys", []string{"cmd", "storage/pebblekv", "wire/server"}, "system calls belong to the edge"},
	{"golang.org/x/text", []string{"bson", "collection/mql", "collection/text", "collection/expr", "collection/match", "wire/auth"}, "collation and text search have one door each"},
}
