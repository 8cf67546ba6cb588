package tidy

import "slices"

// doors lists the packages that may import each library. A library is an import path with everything below it;
// the longest row that matches an import decides.
var doors = []struct {
	path  string
	users []string // packages with everything below them
	why   string
}{
	{"github.com/blevesearch/snowballstem", []string{"collection/text"}, "words become terms in one place, for documents and searches alike"},
	{"github.com/blugelabs/bluge/analysis", []string{"collection/text"}, "its stop lists belong to the terms"},
	{"github.com/cespare/xxhash/v2", []string{"collection/expr", "collection/shard"}, "one place decides what a shard key hashes to; $hash is asked for this hash by name"},
	{"github.com/cockroachdb/pebble/v2", []string{"storage/pebblekv"}, "the engine can be exchanged only if nobody else knows it"},
	{"github.com/dlclark/regexp2/v2", []string{"collection/mql"}, "patterns are compiled in one place, with a time limit"},
	{"github.com/dop251/goja", []string{"collection/expr"}, "JavaScript runs with bounded time and memory, from one door"},
	{"github.com/golang/geo", []string{"collection/geo"}, "geometry belongs to one package of the document engine"},
	{"github.com/klauspost/compress", []string{"storage/backup", "wire"}, "compression belongs to the frames, and to what is kept of the log"},
	{"github.com/pingcap", []string{"storage/tikvkv"}, "the engine can be exchanged only if nobody else knows it"},
	{"github.com/prometheus/client_golang", []string{"cmd/cantle/tikvengine", "serve/daemon", "storage/tikvkv", "wire/command"}, "metrics are collected as counts below and exposed at the edge; TiKV's client collects its own"},
	{"github.com/prometheus/client_model", []string{"storage/tikvkv"}, "the counts of TiKV's client are read out of its collectors"},
	{"github.com/rs/zerolog", []string{"serve/daemon", "shard/balance", "wire/command", "wire/defects", "wire/server"}, "deeper code returns errors and counts; it does not log"},
	{"github.com/spf13/pflag", []string{"cmd/cantle", "serve"}, "flags belong to the program"},
	{"github.com/tikv", []string{"storage/tikvkv"}, "the engine can be exchanged only if nobody else knows it"},
	{"github.com/xdg-go/scram", []string{"wire/auth"}, "authentication has one door"},
	{"github.com/xdg-go/stringprep", []string{"wire/auth"}, "authentication has one door"},
	{"github.com/youmark/pkcs8", []string{"serve/daemon"}, "keys are read where the server starts"},
	{"github.com/tdewolff/parse/v2", []string{"collection/expr"}, "JavaScript is read within bounds before it is compiled"},
	{"go.etcd.io/etcd", []string{"storage/tikvkv/tikvfake"}, "the simulated cluster speaks what PD's clients ask of it"},
	{"go.mongodb.org/mongo-driver/v2/mongo", []string{"cmd/cantle/cli", "cmd/cantle/top"}, "verbs of the program talk to a server as any client does"},
	{"go.mongodb.org/mongo-driver/v2", []string{"bson", "bson/ejson"}, "its types for tests and tools come in by one door; the product reads raw BSON"},
	{"go.uber.org/zap", []string{"storage/tikvkv"}, "the client of a cluster logs through it, and the server does not"},
	{"golang.org/x/sys", []string{"cmd/cantle/doctor", "serve/daemon", "wire/server"}, "system calls belong to the edge"},
	{"golang.org/x/term", []string{"cmd/cantle/top"}, "the terminal belongs to the one verb that takes keys"},
	{"golang.org/x/text", []string{"collection/mql", "collection/text"}, "collation and text search have one door each"},
	{"google.golang.org/grpc", []string{"storage/tikvkv"}, "the protocol of a cluster belongs to its engine"},
}

// doorOf returns the row of doors that decides about an import path, -1 without one.
func doorOf(p string) int {
	row := -1
	for i, d := range doors {
		if under(p, d.path) && (row < 0 || len(d.path) > len(doors[row].path)) {
			row = i
		}
	}
	return row
}

// doorUsers returns the number of users in the rows of doors.
func doorUsers() (n int) {
	for _, d := range doors {
		n += len(d.users)
	}
	return n
}

// checkWalls reports unnecessary rows of doors: users of a row that do not import its library.
func checkWalls(r *repo, report reporter) {
	for row, d := range doors {
		for _, user := range d.users {
			used := slices.ContainsFunc(r.files, func(f *file) bool {
				if f.test || !under(f.dir, user) {
					return false
				}
				for p := range f.imports() {
					if doorOf(p) == row {
						return true
					}
				}
				return false
			})
			if !used {
				report("scripts/tidy/doors_test.go", user+" does not use "+d.path+": take it out of the row")
			}
		}
	}
}
