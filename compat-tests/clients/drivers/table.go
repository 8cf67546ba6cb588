package drivers

import (
	"slices"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// areas are the areas that the client programs test, in the order of the matrix; doc.go describes each.
var areas = []string{
	"connect", "crud", "bulk", "bulkwrite", "cursors", "indexes", "aggregation", "gridfs", "sessions", "transactions", "retryable",
	"changestreams", "throttling", "errors", "compression", "pool", hosts,
}

// hosts is the area that only the variant several has.
const hosts = "hosts"

// mapped are the areas in which an object mapper adds something to its driver.
var mapped = []string{"connect", "crud", "bulk", "cursors", "indexes", "aggregation", "transactions", "changestreams"}

// allBut returns all areas except those that a client does not have.
func allBut(missing ...string) []string {
	return slices.DeleteFunc(slices.Clone(areas), func(area string) bool { return slices.Contains(missing, area) })
}

// program is one client program: a folder, with the commands that install and run it.
type program struct {
	folder  string
	needs   []string // executables without which it is skipped
	hint    string   // how to get them
	library string   // a library that pkg-config must find, for C
	fetch   []string // shell commands that fetch dependencies, run once in the copied folder
	build   []string // shell commands, run after fetch
	run     string   // shell command, run in the copied folder
	rows    []row
	always  bool // the tests require its toolchain: without it, the test fails
	long    bool // installing takes more than a minute: only with CANTLE_LONG
}

// installation returns the client program in the form in which the harness installs programs.
func (p *program) installation() *harness.Program {
	return &harness.Program{Folder: p.folder, Needs: p.needs, Library: p.library, Fetch: p.fetch, Build: p.build}
}

// row is one line of the matrix.
type row struct {
	name  string   // first word of the lines it prints
	title string   // in README
	areas []string // the areas that it reports
}

// programs in the order of the matrix.
var programs = []program{
	{
		folder: "node", needs: []string{"node", "npm"}, always: true,
		fetch: []string{"npm install --no-package-lock --no-audit --no-fund --loglevel=error"},
		run:   "node --test-reporter=spec driver.test.mjs; one=$?; node --test-reporter=spec mongoose.test.mjs && exit $one",
		rows:  []row{{"node", "Node `mongodb`", areas}, {"mongoose", "Mongoose", slices.Insert(slices.Clone(mapped), 3, "bulkwrite")}},
	},
	{
		folder: "python", needs: []string{"python3"},
		fetch: []string{"rm -rf venv", "python3 -m venv venv", "venv/bin/pip install -q --disable-pip-version-check -r requirements.txt"},
		run:   "venv/bin/python -m pytest -q -s -p no:cacheprovider --timeout=120 --tb=short .",
		rows: []row{{"pymongo", "PyMongo", areas}, {"pymongo-async", "PyMongo, async", allBut(hosts)}, {"mongoengine", "MongoEngine", mapped[:6]},
			{"beanie", "Beanie", mapped}},
	},
	{
		folder: "godriver", needs: []string{"go"},
		run:  "go -C \"$CANTLE_ROOT\" run ./compat-tests/clients/drivers/godriver",
		rows: []row{{"go", "Go driver", areas}},
	},
	{
		folder: "c", needs: []string{"cc", "pkg-config"}, hint: "; Debian: apt install gcc pkg-config libmongoc-dev",
		build: []string{"cc -O1 -Wall -Werror -o client client.c $(pkg-config --cflags --libs libmongoc-1.0) -lpthread"},
		run:   "./client", library: "libmongoc-1.0",
		rows: []row{{"c", "C driver", allBut("bulkwrite")}}, // supported since libmongoc 1.29, newer than Debian's
	},
	{
		folder: "java", needs: []string{"javac", "mvn"}, hint: "; Debian: apt install openjdk-17-jdk maven",
		fetch: []string{"mvn -q -B -Dstyle.color=never dependency:copy-dependencies"},
		build: []string{"javac -parameters -d target/classes -cp 'target/dependency/*' $(find src -name '*.java')"},
		run:   "java -cp 'target/classes:target/dependency/*' client.Areas",
		rows: []row{{"java", "Java driver", areas}, {"morphia", "Morphia",
			[]string{"connect", "crud", "cursors", "indexes", "aggregation", "transactions"}}, {"spring", "Spring Data MongoDB", mapped}},
	},
	{
		folder: "rust", needs: []string{"cargo"}, long: true,
		fetch: []string{"cargo fetch -q"},
		build: []string{"cargo build -q --offline"},
		run:   "target/debug/client",
		rows:  []row{{"rust", "Rust driver", areas}},
	},
}
