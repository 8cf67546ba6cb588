package tidy

import "slices"

// libraryUsers lists the packages that may import each library. path is an import path and stands for everything
// below it, too; the longest path that matches an import decides.
var libraryUsers = []struct {
	path  string
	users []string // packages with everything below them
	why   string
}{
	{"github.com/blevesearch/snowballstem", []string{"collection/text"}, "words become terms in one place, for documents and searches alike"},
	{"github.com/blugelabs/bluge/analysis", []string{"collection/text"}, "its stop lists belong to the terms"},
	{"github.com/cespare/xxhash/v2", []string{"collection/expr", "collection/shard"}, "one place decides what a shard key hashes to; $hash names this hash"},
	{"github.com/cockroachdb/pebble/v2", []string{"storage/pebblekv"}, "only the engine imports it, so that the engine can be exchanged"},
	{"github.com/dop251/goja", []string{"collection/expr"}, "JavaScript runs in one package, with bounded time and memory"},
	{"github.com/golang/geo", []string{"collection/geo"}, "geometry belongs to one package of the document engine"},
	{"github.com/klauspost/compress", []string{"storage/backup", "wire"}, "compression belongs to the frames, and to what is kept of the log"},
	{"github.com/minio/minio-go/v7", []string{"cmd/cantle/s3archive"}, "only the program is a client of object stores, so that programs that embed a server do not link the library"},
	{"github.com/pingcap", []string{"storage/tikvkv"}, "only the engine imports it, so that the engine can be exchanged"},
	{"github.com/prometheus/client_golang", []string{"cmd/cantle/tikvengine", "serve/daemon", "storage/tikvkv", "wire/command"}, "metrics are collected as counts below and exposed at the edge; TiKV's client collects its own"},
	{"github.com/prometheus/client_model", []string{"storage/tikvkv"}, "the counts of TiKV's client are read out of its collectors"},
	{"github.com/robfig/cron/v3", []string{"shard/planned"}, "times that repeat are read in one place"},
	{"github.com/rs/zerolog", []string{"serve/daemon", "shard/balance", "wire/command", "wire/defects", "wire/server"}, "deeper code returns errors and counts; it does not log"},
	{"github.com/spf13/cobra", []string{"cmd/cantle"}, "commands belong to the program"},
	{"github.com/spf13/pflag", []string{"cmd/cantle", "serve"}, "flags belong to the program"},
	{"github.com/tikv", []string{"storage/tikvkv"}, "only the engine imports it, so that the engine can be exchanged"},
	{"github.com/xdg-go/scram", []string{"wire/auth"}, "only the package of authentication implements SCRAM"},
	{"github.com/xdg-go/stringprep", []string{"wire/auth"}, "only the package of authentication implements SCRAM"},
	{"github.com/yuin/goldmark", []string{"cmd/cantle/site"}, "Markdown becomes HTML in one place, for the console and for the static site"},
	{"github.com/youmark/pkcs8", []string{"serve/daemon"}, "keys are read where the server starts"},
	{"github.com/tdewolff/parse/v2", []string{"collection/expr"}, "JavaScript is read within bounds before it is compiled"},
	{"go.etcd.io/etcd", []string{"storage/tikvkv/tikvfake"}, "the simulated cluster implements the calls of PD's clients"},
	{"go.mongodb.org/mongo-driver/v2/mongo", []string{"cmd/cantle/cli", "cmd/cantle/top"}, "verbs of the program are clients of a server"},
	{"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology", []string{"cmd/cantle/address"}, "only its error has the reasons why no server was found"},
	{"go.mongodb.org/mongo-driver/v2", []string{"bson", "bson/ejson"}, "its types serve tests and tools; the product reads raw BSON"},
	{"go.uber.org/zap", []string{"storage/tikvkv"}, "the client of a cluster logs through it, and the server does not"},
	{"golang.org/x/sys", []string{"cmd/cantle/doctor", "serve/daemon", "wire/server"}, "system calls belong to the edge"},
	{"golang.org/x/term", []string{"cmd/cantle/top"}, "only one verb reads keys from the terminal"},
	{"golang.org/x/text", []string{"collection/mql", "collection/tailoring", "collection/text"}, "collations, the rules that they apply, and text search"},
	{"google.golang.org/grpc", []string{"storage/tikvkv"}, "the protocol of a cluster belongs to its engine"},
}

// libraryRow returns the index of the row of libraryUsers that decides about an import path, -1 if there is none.
func libraryRow(p string) int {
	row := -1
	for i, d := range libraryUsers {
		if under(p, d.path) && (row < 0 || len(d.path) > len(libraryUsers[row].path)) {
			row = i
		}
	}
	return row
}

// countUsers returns the number of users in all rows of libraryUsers.
func countUsers() (n int) {
	for _, d := range libraryUsers {
		n += len(d.users)
	}
	return n
}

// checkUnused reports unneeded entries of libraryUsers: packages that are allowed to import a library and do
// not.
func checkUnused(r *repo, report reporter) {
	for row, d := range libraryUsers {
		for _, user := range d.users {
			used := slices.ContainsFunc(r.files, func(f *file) bool {
				if f.test || !under(f.dir, user) {
					return false
				}
				for p := range f.imports() {
					if libraryRow(p) == row {
						return true
					}
				}
				return false
			})
			if !used {
				report("scripts/tidy/library_users_test.go", user+" does not use "+d.path+": take it out of the row")
			}
		}
	}
}
