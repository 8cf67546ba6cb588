package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/bench"
)

// benched runs cantle bench.
func benched(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var o strings.Builder
	status = verbStatus(t, "bench", "", &o, &o, args...)
	return status, o.String()
}

// benchResult has the fields of --json that the tests read.
type benchResult struct {
	LoadedRU   *float64
	LastError  string
	Operations []struct {
		Operation                string
		Count                    int64
		P50, P99, Max            float64
		RU                       *float64
		Refused, Retries, Failed int64
	}
}

// benchedJSON runs cantle bench with --json.
func benchedJSON(t *testing.T, args ...string) (all benchResult) {
	t.Helper()
	status, out := benched(t, append([]string{"--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != 0 {
		t.Fatalf("status %d, %v\n%s", status, err, out)
	}
	return all
}

// TestBenchMixes runs a few operations of each mix, and checks their number, their charges, and that --drop drops the
// collection.
func TestBenchMixes(t *testing.T) {
	uri, db := start(t)
	for _, m := range bench.Mixes {
		all := benchedJSON(t, "--workload", m.Name, "--operations", "120", "--documents", "60", "--threads", "3", "--field-size", "20", "--drop", uri)
		last := all.Operations[len(all.Operations)-1]
		if last.Operation != "all" || last.Count != 120 || last.Failed+last.Refused != 0 || last.RU == nil || *last.RU < 120 || *all.LoadedRU < 60 || last.P50 <= 0 || last.P99 > last.Max {
			t.Errorf("%s: %+v", m.Name, all)
		}
		sum := int64(0)
		for _, o := range all.Operations[:len(all.Operations)-1] {
			sum += o.Count
		}
		if sum != 120 {
			t.Errorf("%s: %+v", m.Name, all)
		}
	}
	if names, err := db.Client().Database("bench").ListCollectionNames(t.Context(), struct{}{}); err != nil || len(names) != 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// TestBenchCosmos checks that the address that looks like Azure Cosmos DB accepts the commands of the mixes.
func TestBenchCosmos(t *testing.T) {
	d := startWith(t, "--memory", "--cosmos-listen", "127.0.0.1:0")
	for _, name := range []string{"a", "e", "tenants"} {
		all := benchedJSON(t, "--workload", name, "--operations", "40", "--documents", "20", "--threads", "2", "--drop", d.CosmosURI())
		if last := all.Operations[len(all.Operations)-1]; last.Count != 40 || last.Failed != 0 || last.RU == nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// TestBenchElsewhere checks that without Cantle's name in buildInfo no charge is requested and no column of request units
// is printed. The server is a replica set, which does not shard.
func TestBenchElsewhere(t *testing.T) {
	d := startWith(t, "--memory", "--replica-set", "rs0")
	s, err := connect(d.URI(), "test", withoutRetries)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	other := func(ctx context.Context, db string, command bson.Raw) (bson.Raw, error) {
		if command.Has("comment") || command.Has("customAction") {
			t.Errorf("%s is sent", command)
		}
		reply, err := s.remoteRun(ctx, db, command)
		if command.Has("buildInfo") {
			reply = bson.D{{"version", reply.Get("version")}, {"ok", 1}}.Doc()
		}
		return reply, err
	}
	for _, name := range []string{"b", "time-series"} {
		b, err := bench.New(other, bench.Options{Mix: name, Threads: 2, Duration: time.Minute, Operations: 40, Documents: 20, Fields: 2, FieldSize: 10, Namespace: "x.y", Drop: true})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := b.Measure(t.Context(), &bench.Report{Out: &out}); err != nil || strings.Contains(out.String(), "RU") || !strings.Contains(out.String(), "retries") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
	b, err := bench.New(s.remoteRun, bench.Options{Mix: "a", Threads: 1, Duration: time.Minute, Documents: 1, Fields: 1, FieldSize: 1, Namespace: "x.nope", Operations: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Measure(ctx, &bench.Report{Out: io.Discard}); err == nil {
		t.Error("a cancelled run succeeds")
	}
}

// TestBenchThrottled checks that refusals are counted and retried: no operation fails, and all documents are loaded.
func TestBenchThrottled(t *testing.T) {
	t.Parallel()
	uri, db := start(t)
	// The inserts need the RU of more than two seconds, about 900: fewer could be served without a refusal if a new
	// second began between them.
	all := benchedJSON(t, "--workload", "insert", "--documents", "4", "--operations", "40", "--field-size", "4000", "--throughput", "400", "--retries", "100", uri)
	last := all.Operations[len(all.Operations)-1]
	if last.Count != 40 || last.Failed != 0 || last.Refused == 0 || last.Retries == 0 {
		t.Errorf("%+v", all)
	}
	if n := run(t, db.Client().Database("bench"), `{count: "ycsb"}`)["n"]; n != int32(44) {
		t.Errorf("%v documents", n)
	}
	status, out := benched(t, "--documents", "50", "--operations", "10", uri)
	if status != 1 || !strings.Contains(out, "bench.ycsb: the collection has documents") || !strings.Contains(out, "--append") {
		t.Errorf("status %d\n%s", status, out)
	}
	status, out = benched(t, "--documents", "4", "--operations", "10", "--append", "--rate", "500", "--retries", "100", "--workload", "c", uri)
	if status != 0 || !strings.Contains(out, "read ") || !strings.Contains(out, "RU each") || !strings.Contains(out, "was due at 500 op/s") {
		t.Errorf("status %d\n%s", status, out)
	}
	if n := run(t, db.Client().Database("bench"), `{count: "ycsb"}`)["n"]; n != int32(44) {
		t.Errorf("%v documents after --append", n)
	}
}

// TestBenchArguments checks that wrong arguments are refused before anything is sent.
func TestBenchArguments(t *testing.T) {
	for _, bad := range [][]string{{}, {"--workload", "z", "mongodb://127.0.0.1:1/"}, {"--threads", "0", "mongodb://127.0.0.1:1/"}, {"--distribution", "x", "mongodb://127.0.0.1:1/"},
		{"--collection", "x", "mongodb://127.0.0.1:1/"}, {"--append", "--drop", "mongodb://127.0.0.1:1/"}, {"--field-size", "100000", "--fields", "100", "mongodb://127.0.0.1:1/"}, {"nonsense://"}} {
		if status, out := benched(t, bad...); status != 2 {
			t.Errorf("%v: status %d\n%s", bad, status, out)
		}
	}
}
