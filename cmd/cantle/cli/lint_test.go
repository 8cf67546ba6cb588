package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lintOf writes the given files, runs cantle lint on them, and returns the exit status and the text that it printed.
func lintOf(t *testing.T, files map[string]string, args ...string) (status int, out, errs string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range args {
		if a == "." || files[a] != "" {
			args[i] = filepath.Join(folder, a)
		}
	}
	var o, e strings.Builder
	status = verbStatus(t, "lint", "", &o, &e, args...)
	shorten := func(s string) string { return strings.ReplaceAll(s, folder+string(filepath.Separator), "") }
	return status, shorten(o.String()), shorten(e.String())
}

// wantFindings compares the rows of a printed table with the beginnings in want, which separate cells by bars.
func wantFindings(t *testing.T, out string, want ...string) {
	t.Helper()
	var got []string
	table, _, _ := strings.Cut(out, "\n\n")
	for line := range strings.Lines(table) {
		var cells []string
		for cell := range strings.SplitSeq(strings.TrimSpace(line), "  ") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, cell)
			}
		}
		got = append(got, strings.Join(cells, "|"))
	}
	if got = got[1:]; len(got) != len(want) {
		t.Fatalf("%d findings, want %d:\n%s", len(got), len(want), out)
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) {
			t.Errorf("%s\nwant %s", got[i], w)
		}
	}
}

const lintCommands = `{aggregate: "orders", pipeline: [{$bucket: {groupBy: "$total", boundaries: [0, 9]}}, {$match: {$jsonSchema: {}}}], cursor: {}, $db: "x"}
{status: "open", $where: "this.a > 1"}

[{$match: {status: "open"}}, {$lookup: {from: "o", pipeline: [{$densify: {field: "x", range: {step: 1, bounds: "full"}}}], as: "x"}}]
{createIndexes: "c", indexes: [{key: {a: "text"}, name: "a"}, {key: {"a.b": 1, c: 1}, name: "b", sparse: true}]}
{create: "c", validator: {a: 1}, capped: true, size: 100000}
{killOp: 1, op: 5, $db: "admin"}
{ismaster: 1}
{update: "c", updates: [{q: {a: {$bitsAllSet: 3}}, u: {$set: {a: 1}}}], txnNumber: 5}
{update: "c", updates: [{q: {}, u: [{$set: {a: {$rand: {}}}}]}], txnNumber: 5, autocommit: false}
{find: "c", collation: {locale: "fr"}}
{$set: {a: 1}, $pullAll: {b: [1]}}
{count: "x", query: {a: {$in: [1, 2]}}}
`

// Commands, filters and other documents in files are read by the server's own parsers, and each feature in them is
// found.
func TestLintCommands(t *testing.T) {
	status, out, errs := lintOf(t, map[string]string{"a.json": lintCommands}, "--for", "cosmos-7.0", "a.json")
	if status != 1 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	wantFindings(t, out,
		"a.json:1|1|parsed|$bucket|aggregation stages|-|40324 Unrecognized pipeline stage name: '$bucket'",
		"a.json:1|1|parsed|$jsonSchema|query operators|-|115 '$jsonSchema' is not supported",
		"a.json:2|1|parsed|$where|query operators",
		"a.json:4|1|parsed|$densify|aggregation stages",
		"a.json:4|1|parsed|$lookup with let or pipeline|",
		"a.json:5|1|parsed|text|kinds of index",
		"a.json:5|1|parsed|compound and unique indexes on nested fields|options, limits and rules of indexes|capability EnableUniqueCompoundNestedDocs|67 ",
		"a.json:5|1|parsed|sparse indexes|",
		"a.json:6|1|parsed|capped collections|",
		"a.json:6|1|parsed|validators of collections|",
		"a.json:7|1|parsed|killOp|commands|-|115 Command killOp not supported.",
		"a.json:9|1|parsed|$bitsAllSet|query operators",
		"a.json:9|1|parsed|retryable writes|options, limits and rules of indexes|capability EnableMongoRetryableWrites|2 Retryable writes are not supported.",
		"a.json:10|1|parsed|$rand|expression operators",
		"a.json:11|1|parsed|a collation of a command|",
	)
	if !strings.HasSuffix(out, "\nAzure Cosmos DB for MongoDB 7.0 refuses 15 features; checked: 12 commands\n") {
		t.Error(out)
	}
}

// The version and the capabilities determine the features of an account.
func TestLintAccounts(t *testing.T) {
	files := map[string]string{"a.json": `[{aggregate: "c", pipeline: [{$graphLookup: {from: "c", startWith: "$a", connectFromField: "a", connectToField: "b", as: "x"}}], cursor: {}},
		{update: "c", updates: [{q: {}, u: [{$set: {a: 1}}]}], txnNumber: 1}]`}
	for _, x := range []struct {
		account, capabilities, last string
		want                        []string
	}{
		{"cosmos-7.0", "", "refuses 2 features", []string{"a.json[0]|1|parsed|$graphLookup|aggregation stages|version 3.6, 4.0|", "a.json[1]|1|parsed|retryable writes|"}},
		{"cosmos-3.6", "EnableMongoRetryableWrites", "3.6 with EnableMongoRetryableWrites refuses 1 feature", []string{"a.json[1]|1|parsed|$set|aggregation stages|version 4.2, 5.0, 6.0, 7.0|"}},
	} {
		status, out, errs := lintOf(t, files, "--for", x.account, "--capabilities", x.capabilities, "a.json")
		if status != 1 || errs != "" || !strings.Contains(out, x.last) {
			t.Errorf("%s: status %d, %s%s", x.account, status, out, errs)
		}
		wantFindings(t, out, x.want...)
	}
	if status, out, errs := lintOf(t, map[string]string{"a.json": `{find: "c", filter: {a: {$gt: 1}}, limit: 5}`}, "a.json"); status != 0 || errs != "" || out != "Azure Cosmos DB for MongoDB 7.0 refuses nothing; checked: 1 command\n" {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	for _, x := range []struct{ name, capabilities, want string }{{"mongodb", "", "--for is one of cosmos-3.6, "}, {"cosmos-4.1", "", `not "cosmos-4.1"`}, {"cosmos-7.0", "EnableNothing", "choose"}} {
		if status, _, errs := lintOf(t, nil, "--for", x.name, "--capabilities", x.capabilities, "a.json"); status != 2 || !strings.Contains(errs, x.want) {
			t.Errorf("%v: status %d, %s", x, status, errs)
		}
	}
	if status, _, errs := lintOf(t, map[string]string{"a.json": "{find: \"c\"}\n{find: \n"}, "a.json"); status != 1 || !strings.Contains(errs, "a.json:2: ") {
		t.Errorf("half a document: status %d, %s", status, errs)
	}
}

const lintLog = `{"t":{"$date":"2024-05-01T10:00:00.000Z"},"s":"I","c":"NETWORK","id":22943,"ctx":"listener","msg":"Connection accepted","attr":{"remote":"127.0.0.1:5"}}
{"t":{"$date":"2024-05-01T10:00:00.000Z"},"s":"I","c":"COMMAND","id":51803,"ctx":"conn1","msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"aggregate":"orders","pipeline":[{"$sortByCount":"$a"},{"$setWindowFields":{"output":{}}}],"cursor":{},"lsid":{"id":{"$uuid":"00000000-0000-4000-8000-000000000000"}},"$clusterTime":{"clusterTime":{"$timestamp":{"t":1,"i":1}}},"$db":"shop"},"durationMillis":5}}
{"t":{"$date":"2024-05-01T10:00:01.000Z"},"s":"I","c":"COMMAND","id":51803,"ctx":"conn1","msg":"Slow query","attr":{"type":"getmore","ns":"shop.orders","command":{"getMore":5,"collection":"orders","$db":"shop"},"originatingCommand":{"aggregate":"orders","pipeline":[{"$setWindowFields":{"output":{}}}],"cursor":{},"$db":"shop"},"durationMillis":5}}
{"t":{"$date":"2024-05-01T10:00:02.000Z"},"s":"I","c":"WRITE","id":51803,"ctx":"conn1","msg":"Slow query","attr":{"type":"update","ns":"shop.orders","command":{"q":{"$where":"1"},"u":{"$set":{"a":1}},"multi":false,"upsert":false},"durationMillis":5}}
2024-05-01T10:00:03Z INF Slow query attr={"type":"remove","ns":"shop.orders","command":{"q":{"a":{"$bitsAnySet":1}},"limit":0},"durationMillis":5}
2024-05-01T10:00:03Z INF ready
`

// In a server's log, all slow commands with the same feature count together, including cursors that continue one, and
// single statements of writes.
func TestLintLog(t *testing.T) {
	status, out, errs := lintOf(t, map[string]string{"mongod.log": lintLog}, "mongod.log")
	if status != 1 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	wantFindings(t, out,
		"mongod.log:2|2|parsed|$setWindowFields|aggregation stages",
		"mongod.log:4|1|parsed|$where|query operators",
		"mongod.log:5|1|parsed|$bitsAnySet|query operators",
	)
}

// In source text, cantle lint finds the names that the server has for some feature and the account has for none.
func TestLintSource(t *testing.T) {
	status, out, errs := lintOf(t, map[string]string{
		"src/orders.js":         "orders.aggregate([{ $bucket: {} }, { '$set': { a: `${x}` } }])\n$http.get(x); $scope.$watch('a')\nc.bulkWrite([]); c.mapReduce(f, g); c.eval(x)\n",
		"src/Orders.java":       "Document d = new Document(\"$push\", 1).append(\"$setWindowFields\", 1);\ndb.runCommand(new Document(\"collMod\", \"c\"));\n",
		"src/node_modules/x.js": "x({ $bucket: 1 })\n",
		"src/README.md":         "$bucket\n",
	}, "--for", "cosmos-7.0", ".")
	if status != 1 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	wantFindings(t, out,
		"src/Orders.java:1|1|by name|$setWindowFields|aggregation stages",
		"src/Orders.java:2|1|by name|collMod|commands",
		"src/orders.js:1|1|by name|$bucket|aggregation stages",
		"src/orders.js:3|1|by name|mapReduce|commands",
	)
	if !strings.Contains(out, ": 2 source files\n") {
		t.Error(out)
	}
}
