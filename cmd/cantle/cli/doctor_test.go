package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/serve/daemon"
)

// doctored runs the verb.
func doctored(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var o, errs strings.Builder
	status = verbStatus(t, "doctor", "", &o, &errs, args...)
	return status, o.String() + errs.String()
}

// startWith runs a server inside the test with more flags.
func startWith(t *testing.T, args ...string) *daemon.Daemon {
	t.Helper()
	var cfg daemon.Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	if err := f.Parse(append([]string{"--listen", "127.0.0.1:0", "--drain", "1s"}, args...)); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.Start(context.Background(), cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop() })
	return d
}

// The findings of a running server: its state, and its clients.
func TestDoctorServer(t *testing.T) {
	d := startWith(t, "--memory")
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()).SetAppName("shop"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.Background()) })
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	status, out := doctored(t, d.URI())
	flat := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"as mongos; it is cantle " + daemon.Version, "more available; up for", "drivers mongo-go-driver ", " of shop"} {
		if status != 0 || !strings.Contains(flat, want) {
			t.Errorf("status %d, no %q in\n%s", status, want, out)
		}
	}
	status, out = doctored(t, "--json", d.URI())
	var found struct {
		Faults, Warnings int
		Checks           []struct{ Check, State, Found string }
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || status != 0 || found.Faults != 0 || len(found.Checks) < 3 || found.Checks[0].Check != "server" || found.Checks[0].State != "ok" {
		t.Errorf("status %d, %v\n%s", status, err, out)
	}
	status, out = doctored(t, "--timeout", "300ms", "mongodb://u:secret@127.0.0.1:1/")
	if status != 1 || !strings.Contains(out, "FAULT") || strings.Contains(out, "secret") || !strings.Contains(out, "1 fault, 0 warnings") {
		t.Errorf("status %d\n%s", status, out)
	}
	if status, out := doctored(t, "a", "b"); status != 2 {
		t.Errorf("status %d\n%s", status, out)
	}
}

// refuse creates test.orders with two partitions and 400 RU/s, and sends inserts of which most are refused: those of
// one shard key value if hot is true.
func refuse(t *testing.T, db *mongo.Database, hot bool) {
	t.Helper()
	run(t, db.Client().Database("admin"), `{shardCollection: "test.orders", key: {tenant: "hashed"}, numInitialChunks: 2}`)
	run(t, db, `{customAction: "UpdateCollection", collection: "orders", offerThroughput: 400}`)
	var docs []string
	for i := range 200 {
		tenant := fmt.Sprintf("t%d", i)
		if hot {
			tenant = "acme"
		}
		docs = append(docs, fmt.Sprintf(`{tenant: %q}`, tenant))
	}
	insert := bsontest.Doc(t, fmt.Sprintf(`{insert: "orders", ordered: false, documents: [%s]}`, strings.Join(docs, ",")))
	_ = db.RunCommand(t.Context(), []byte(insert)).Err() // that of the refused documents
}

// Of a server that refuses requests, cantle doctor reports how many, and which partition is hot; cantle report counts
// the refused documents; a misspelt collection is an error with the nearest name.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		hot  bool
		want string
	}{{true, "has 100 % of the load of 2 partitions"}, {false, "All 2 partitions are at their limit and refused"}} {
		uri, db := start(t)
		refuse(t, db, c.hot)
		status, out := doctored(t, uri)
		flat := strings.Join(strings.Fields(out), " ")
		for _, want := range []string{"warning load", "requests were refused in the last minute", "test.orders: ", c.want} {
			if status != 0 || !strings.Contains(flat, want) || strings.Contains(flat, "nothing to do") {
				t.Errorf("status %d, no %q in\n%s", status, want, out)
			}
		}
		var report strings.Builder
		if status := verbStatus(t, "report", "", &report, &report, uri, "test.orders"); status != 0 || !strings.Contains(report.String(), c.want) {
			t.Errorf("status %d\n%s", status, report.String())
		}
		n := 0
		for line := range strings.Lines(report.String()) {
			if f := strings.Fields(line); len(f) > 10 && f[10] == "insert" {
				n, _ = strconv.Atoi(f[9])
			}
		}
		if n < 50 || n > 200 || !strings.Contains(report.String(), "refused: ") {
			t.Errorf("%d documents were refused:\n%s", n, report.String())
		}
		report.Reset()
		if status := verbStatus(t, "report", "", &report, &report, uri, "test.ordrs"); status != 1 || !strings.Contains(report.String(), "test.ordrs does not exist; did you mean test.orders?") {
			t.Errorf("status %d\n%s", status, report.String())
		}
	}
}

// Without a login a server returns little, so cantle doctor reports that a user with more rights would see more.
func TestDoctorWithoutLogin(t *testing.T) {
	d := startWith(t, "--memory", "--auth")
	status, out := doctored(t, d.URI())
	if flat := strings.Join(strings.Fields(out), " "); status != 0 || !strings.Contains(flat, "note server a user with the role clusterMonitor sees more") {
		t.Errorf("status %d\n%s", status, out)
	}
}

// Given the settings of a running server, cantle doctor checks the server and its machine, over TLS as well.
func TestDoctorMachine(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if status := verbStatus(t, "cert", "", &out, &out, "--dir", dir, "--hosts", "127.0.0.1", "--days", "20"); status != 0 {
		t.Fatal(out.String())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	flags := []string{"--listen", address, "--data", filepath.Join(dir, "data"), "--tls-mode", "requireTLS", "--tls-certificate-key-file", filepath.Join(dir, "server.pem")}
	startWith(t, flags...)
	status, text := doctored(t, flags...)
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{"the database is open in a running server", ") listens on " + address + " (--listen)", "ok server mongodb://" + address, "warning certificates", " (127.0.0.1) expires on", "in 19 days"} {
		if !strings.Contains(flat, want) {
			t.Errorf("status %d, no %q in\n%s", status, want, text)
		}
	}
	begun := time.Now()
	if status, text := doctored(t, "--data", "/dev/null", "--partitions", "0"); status != 1 || !strings.Contains(text, "/dev/null is a file") || !strings.Contains(text, "--partitions is at least 1") {
		t.Errorf("status %d after %s\n%s", status, time.Since(begun), text)
	}
}

// TestDoctorLoads checks that the findings have the loads of at most loadsShown collections, with and without refusals.
func TestDoctorLoads(t *testing.T) {
	worst := strings.Repeat(`{ns: "a.b", kind: "hot", text: "x"}, `, loadsShown+2)
	for refused, want := range map[string]int{"0": loadsShown, "5": loadsShown + 1} {
		status := bsontest.Doc(t, `{partitionLoad: {refusedLastMinute: `+refused+`, worst: [`+worst+`]}}`)
		if got := len(loads(status)); got != want {
			t.Errorf("%s refusals: %d findings, not %d", refused, got, want)
		}
	}
}
