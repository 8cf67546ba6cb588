package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	driver "go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/workload"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/serve/daemon"
)

// start runs a server inside the test.
func start(t *testing.T, args ...string) (uri string, db *mongo.Database) {
	t.Helper()
	var cfg daemon.Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	if err := f.Parse(append([]string{"--memory", "--listen", "127.0.0.1:0", "--drain", "1s"}, args...)); err != nil {
		t.Fatal(err)
	}
	// Not the test's context: that is cancelled before the clients have disconnected.
	d, err := daemon.Start(context.Background(), cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop() })
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.Background()) })
	return d.URI(), client.Database("test")
}

// run runs a command that must succeed.
func run(t *testing.T, db *mongo.Database, text string) driver.M {
	t.Helper()
	doc := bsontest.Doc(t, text)
	var reply driver.M
	if err := db.RunCommand(t.Context(), []byte(doc)).Decode(&reply); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return reply
}

// verbStatus runs a verb with a text as its standard input and returns the exit status.
func verbStatus(t *testing.T, name, in string, out, errs io.Writer, args ...string) int {
	t.Helper()
	return Run(t.Context(), append([]string{name}, args...), Streams{strings.NewReader(in), out, errs}, nil)
}

// Every verb has a help text, and refuses an unknown flag with status 2.
func TestVerbs(t *testing.T) {
	for _, v := range Verbs() {
		var out, errs strings.Builder
		if code := verbStatus(t, v.Name(), "", &out, &errs, "--help"); code != 0 || errs.Len() > 0 || !strings.HasPrefix(out.String(), "Usage: cantle "+v.Name()) || strings.Contains(v.Use, "[flags]") && !strings.Contains(out.String(), "\n  --") {
			t.Errorf("%s --help: status %d\n%s%s", v.Name(), code, out.String(), errs.String())
		}
		out.Reset()
		want := "cantle " + v.Name() + ": there is no flag --nonsense\nSee cantle " + v.Name() + " --help\n"
		if code := verbStatus(t, v.Name(), "", &out, &errs, "--nonsense"); code != 2 || errs.String() != want {
			t.Errorf("%s --nonsense: status %d\n%s", v.Name(), code, errs.String())
		}
	}
}

// Every verb that prints a table, or numbers, prints the same as JSON with --json. The other verbs print a line, or data
// in a form of their own.
func TestEveryTableHasJSON(t *testing.T) {
	without := map[string]bool{"ping": true, "dump": true, "restore": true, "import": true, "export": true, "users": true, "cert": true, "completion": true,
		"demo": true, "debug": true, "promote": true}
	for _, v := range Verbs() {
		if has := v.Flags().Lookup("json") != nil; has == without[v.Name()] {
			t.Errorf("%s has --json: %v", v.Name(), has)
		}
	}
	uri, db := start(t)
	run(t, db.Client().Database("admin"), `{shardCollection: "test.c", key: {k: "hashed"}}`)
	docs := make([]string, 12) // fewer are too few for advice
	for i := range docs {
		docs[i] = fmt.Sprintf("{_id: %d, k: %d, v: 'a'}", i, i)
	}
	run(t, db, `{insert: "c", documents: [`+strings.Join(docs, ", ")+`]}`)
	sample := filepath.Join(t.TempDir(), "sample.json")
	if err := os.WriteFile(sample, []byte("{k: 1}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"partitions " + uri + " test.c":              `"partitions":[{"id":"0"`,
		"report " + uri + " test.c":                  `"command":"insert"`,
		"bill " + uri:                                `"by":"collection"`,
		"advise " + uri + " test.c":                  `"keys":[{"shardKey":`,
		"estimate --shard-key k --reads 5 " + sample: `"operations":[{"operation":"read by key"`,
		"lint " + uri:                                `"refusedFeatures":0`,
		"compact --dry-run " + uri:                   `"collections":[{"collection":"test.c"`,
		"gateways " + uri:                            `"_id":`,
		"doctor " + uri:                              `"faults"`,
	} {
		var out, errs strings.Builder
		words := strings.Fields(args)
		if code := verbStatus(t, words[0], "", &out, &errs, append(words[1:], "--json")...); code != 0 {
			t.Errorf("%s: status %d\n%s", args, code, errs.String())
		}
		if doc, err := ejson.Parse(out.String()); err != nil || !strings.Contains(out.String(), want) || !doc.Get("ok").IsMissing() || !doc.Get("$clusterTime").IsMissing() {
			t.Errorf("%s: %v\n%s", args, err, out.String())
		}
	}
}

// The charge that cantle estimate computes for each operation equals the charge of a server.
func TestEstimateIsWhatTheServerCharges(t *testing.T) {
	for _, list := range ratelimit.PriceLists() {
		t.Run(list.Name, func(t *testing.T) { estimateAsCharged(t, list) })
	}
}

func estimateAsCharged(t *testing.T, list *ratelimit.PriceList) {
	_, db := start(t, "--prices", list.Name)
	sample := `{_id: 1, device: "d-17", at: 5, tags: ["a", "b", "c"], more: {x: 1, y: 2}, text: "` + strings.Repeat("x", 3000) + `"}`
	doc := bsontest.Doc(t, sample)
	p := workload.Workload{Prices: list, PerQuery: 1, PartitionGB: 50, Changed: []string{"at"}}
	if err := p.Prepare(t.Context(), doc, "device", []string{"{device: 1, at: -1}", "{key: {tags: 1}, sparse: true}", `{"more.$**": 1}`}); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, o := range p.Operations(4) {
		want[o.Name] = math.Round(o.Charge.Float()*100) / 100
	}
	run(t, db.Client().Database("admin"), `{shardCollection: "test.c", key: {device: "hashed"}, numInitialChunks: 4}`)
	run(t, db, `{createIndexes: "c", indexes: [{key: {device: 1, at: -1}, name: "a"}, {key: {tags: 1}, name: "b", sparse: true}, {key: {"more.$**": 1}, name: "c"}]}`)
	for _, x := range []struct{ name, command string }{
		{"insert", `{insert: "c", documents: [` + sample + `]}`},
		{"read by key", `{find: "c", filter: {_id: 1, device: "d-17"}}`},
		{"query, one partition", `{find: "c", filter: {device: "d-17"}, hint: "a"}`},
		{"query, all partitions", `{find: "c", filter: {tags: "b"}}`},
		{"update by key", `{update: "c", updates: [{q: {_id: 1, device: "d-17"}, u: {$set: {at: 6}}}]}`},
		{"delete by key", `{delete: "c", deletes: [{q: {_id: 1, device: "d-17"}, limit: 1}]}`},
	} {
		run(t, db, x.command)
		got := run(t, db, `{getLastRequestStatistics: 1}`)["RequestCharge"].(float64)
		if math.Abs(got-want[x.name]) > 0.011 {
			t.Errorf("%s: the server charges %v, the estimate is %v", x.name, got, want[x.name])
		}
	}
}

// If the shard key has a suffix, a query for one value is charged for the partitions that hold the suffix's buckets.
func TestEstimateSuffix(t *testing.T) {
	_, db := start(t)
	sample := `{_id: 1, day: "d1", vin: "v1"}`
	doc := bsontest.Doc(t, sample)
	p := workload.Workload{Prices: ratelimit.Normative(), PerQuery: 1, PartitionGB: 50, Buckets: 4}
	if err := p.Prepare(t.Context(), doc, "day", []string{"{day: 1}"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, o := range p.Operations(8) {
		want[o.Name] = math.Round(o.Charge.Float()*100) / 100
	}
	run(t, db.Client().Database("admin"), `{shardCollection: "test.c", key: {day: "hashed"}, suffix: {from: "vin", buckets: 4}, numInitialChunks: 8}`)
	run(t, db, `{createIndexes: "c", indexes: [{key: {day: 1}, name: "day"}]}`)
	for _, x := range []struct{ name, command string }{
		{"insert", `{insert: "c", documents: [` + sample + `]}`},
		{"read by key", `{find: "c", filter: {_id: 1, day: "d1", vin: "v1"}}`},
		{"query, one partition", `{find: "c", filter: {day: "d1", vin: "v1"}, hint: "day"}`},
		{"query, all buckets", `{find: "c", filter: {day: "d1"}, hint: "day"}`},
	} {
		run(t, db, x.command)
		got := run(t, db, `{getLastRequestStatistics: 1}`)["RequestCharge"].(float64)
		if math.Abs(got-want[x.name]) > 0.011 {
			t.Errorf("%s: the server charges %v, the estimate is %v", x.name, got, want[x.name])
		}
	}
	if err := (&workload.Workload{Prices: ratelimit.Normative(), Buckets: 1}).Prepare(t.Context(), doc, "day", nil); err == nil {
		t.Error("one bucket is accepted")
	}
}

func TestEstimateVerb(t *testing.T) {
	file := filepath.Join(t.TempDir(), "doc.json")
	if err := os.WriteFile(file, []byte(`{device: "d1", at: 5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	verb := func(args ...string) (int, string) {
		var out strings.Builder
		return verbStatus(t, "estimate", "", &out, &out, args...), out.String()
	}
	code, out := verb("--shard-key", "device", "--inserts", "100", "--reads", "50", file)
	if code != 0 || !strings.Contains(out, "580") || !strings.Contains(out, "offerThroughput: 700") {
		t.Errorf("status %d\n%s", code, out)
	}
	for flag, text := range map[string]string{"--inserts=-5": "--inserts is a number from 0, not -5", "--reads=NaN": "--reads is a number from 0", "--documents=-1": "--documents"} {
		if code, out := verb(flag, file); code != 2 || !strings.Contains(out, text) {
			t.Errorf("%s: status %d\n%s", flag, code, out)
		}
	}
	if code, out := verb("--shard-key", "nosuch", file); code != 2 || !strings.Contains(out, "no field nosuch; its fields are _id, device, at") {
		t.Errorf("an unknown shard key: status %d\n%s", code, out)
	}
	for _, bad := range [][]string{{}, {file + "x"}, {"--index", "{a: 7x}", file}, {"--index", "{a: 'nonsense'}", file}, {"--nonsense", file}} {
		if code, out := verb(bad...); code == 0 || strings.Contains(out, "panic") {
			t.Errorf("%v: status %d\n%s", bad, code, out)
		}
	}
	if code, out := verb("--help"); code != 0 || !strings.Contains(out, "What makes an operation expensive") {
		t.Errorf("--help: status %d\n%s", code, out)
	}
}

func TestPartitionsVerb(t *testing.T) {
	uri, db := start(t)
	run(t, db, `{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 12000}`)
	for range 20 {
		run(t, db, `{insert: "c", documents: [{k: "hot"}]}`)
	}
	verb := func(args ...string) (int, string) {
		var out strings.Builder
		return verbStatus(t, "partitions", "", &out, &out, args...), out.String()
	}
	code, out := verb(uri, "test.c")
	for _, want := range []string{`shard key {"k":"hashed"}`, "6000", "was the busiest", `"hot"`, "refused min", "without a split it could have 20000 RU/s", "in the way of more: one shard key value"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("status %d, without %q:\n%s", code, want, out)
		}
	}
	if code, out := verb(uri, "test.none"); code != 1 || !strings.Contains(out, "none") {
		t.Errorf("status %d\n%s", code, out)
	}
	for _, bad := range [][]string{{}, {uri}, {uri, "nodot"}, {"--top", "x", uri, "test.c"}} {
		if code, _ := verb(bad...); code != 2 {
			t.Errorf("%v: status %d", bad, code)
		}
	}
	if code, out := verb("--timeout", "300ms", "mongodb://u:secret@127.0.0.1:1/", "test.c"); code != 1 || strings.Contains(out, "secret") {
		t.Errorf("status %d\n%s", code, out)
	}
}
