package monitoring

import (
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"go.mongodb.org/mongo-driver/v2/bson"
)

const interval = time.Minute // between two scrapes

// rounds is the number of scrapes in the test: enough for the longest "for" of an alert rule, and for the window that
// its expression reads.
const rounds = 80

// rules are the alert rules.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile("rules.yml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		t.FailNow()
	}
	return groups.Groups[0].Rules
}

func engine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{MaxSamples: 5_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
}

// fires returns the instances (servers) for which an alert fires at the time w.now: its expression has held for the
// whole duration that the alert requires.
func (w *world) fires(r rulefmt.Rule) map[string]bool {
	w.t.Helper()
	q, err := engine().NewRangeQuery(w.t.Context(), w.store, nil, r.Expr, w.now.Add(-time.Duration(r.For)), w.now, interval)
	if err != nil {
		w.t.Fatal(err)
	}
	defer q.Close()
	m, err := q.Exec(w.t.Context()).Matrix()
	if err != nil {
		w.t.Fatalf("%s: %v", r.Alert, err)
	}
	out := map[string]bool{}
	for _, s := range m {
		if len(s.Floats) == int(time.Duration(r.For)/interval)+1 {
			out[s.Metric.Get("instance")] = true
		}
	}
	return out
}

// collections creates the collections for the traffic.
func (s *server) collections() {
	s.t.Helper()
	s.must(bson.D{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: "orders"}, {Key: "shardKey", Value: "k"}, {Key: "offerThroughput", Value: 40000}})
	s.must(bson.D{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: "small"}, {Key: "offerThroughput", Value: 400}})
	s.must(bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: 1}, {Key: "k", Value: 1}}}}})
}

// traffic sends the server the commands of one interval, the i-th, as a healthy server gets them: four inserts of
// different shard key values and four finds. The test then scrapes the metrics of the server.
func (s *server) traffic(i int) {
	s.t.Helper()
	for j := range 4 {
		s.must(bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "k", Value: i*4 + j}}}}})
		s.must(bson.D{{Key: "find", Value: "orders"}, {Key: "filter", Value: bson.D{{Key: "k", Value: j}}}})
	}
}

// trouble sends the other server the commands of one interval, the i-th, that make it unhealthy: writes of one shard
// key value and beyond a budget, invalid finds, and in the last intervals commands that panic or are slow.
func (s *server) trouble(i int) {
	s.t.Helper()
	pad := strings.Repeat("x", 20_000)
	// One document that costs two seconds of the budget: the following writes are refused, however fast the machine
	// is.
	_ = s.do(bson.D{{Key: "insert", Value: "small"}, {Key: "documents", Value: bson.A{bson.D{{Key: "pad", Value: strings.Repeat("x", 2<<20)}}}}})
	for range 12 { // writes of one shard key value, and so to one partition; and to a collection with one partition
		_ = s.do(bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "k", Value: "hot"}, {Key: "pad", Value: pad}}, bson.D{{Key: "k", Value: "hot"}, {Key: "pad", Value: pad}}}}, {Key: "ordered", Value: false}})
		_ = s.do(bson.D{{Key: "insert", Value: "small"}, {Key: "documents", Value: bson.A{bson.D{{Key: "pad", Value: pad}}}}})
	}
	// One of two partitions without a budget does all the work.
	_ = s.do(bson.D{{Key: "insert", Value: "pair"}, {Key: "documents", Value: bson.A{bson.D{{Key: "k", Value: "hot"}, {Key: "pad", Value: strings.Repeat("x", 2<<20)}}}}})
	for range 6 {
		_ = s.do(bson.D{{Key: "find", Value: "orders"}, {Key: "filter", Value: bson.D{{Key: "$nothing", Value: 1}}}})
	}
	if i > rounds-4 { // a command that panics ends its connection
		var found struct{ Cursor struct{ ID int64 } }
		if err := s.client.Database("shop").RunCommand(s.t.Context(), bson.D{{Key: "listCollections", Value: 1}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: 1}}}}).Decode(&found); err == nil {
			_ = s.do(bson.D{{Key: "getMore", Value: found.Cursor.ID}, {Key: "collection", Value: "$cmd.listCollections"}})
			_ = s.do(bson.D{{Key: "ping", Value: 1}}) // the client learns of it
		}
	}
	if i > rounds-20 && i%2 == 0 { // each takes a second
		_ = s.do(bson.D{{Key: "distinct", Value: "orders"}, {Key: "key", Value: "k"}})
	}
}

// certificates makes certificates that expire soon, and returns the server's file.
func certificates(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command(path, "cert", "--dir", dir, "--days", "20").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "server.pem")
}

// replaced returns a function that changes scraped numbers: of the unhealthy server those that no test can produce,
// such as a full disk; of the other the free disk space.
func replaced(step *int) func(name, instance string, v float64) float64 {
	return func(name, instance string, v float64) float64 {
		if instance != "sick" {
			if name == "cantle_disk_free_bytes" {
				return 50 << 30 // independent of other users of this disk
			}
			return v
		}
		switch name {
		case "cantle_waiting_requests":
			return 150
		case "cantle_store_write_stalls_total":
			return float64(*step / 2)
		case "cantle_disk_bytes":
			return 100 << 30
		case "cantle_disk_free_bytes":
			return float64(9<<30 - *step*(10<<20))
		case "cantle_store_refuses_writes":
			return 1
		case "cantle_store_conflicts_total":
			return float64(100 * *step)
		case "cantle_backup_last_timestamp_seconds":
			return v - 3*86400
		case "cantle_backup_failures_total":
			return float64(*step)
		case "process_open_fds":
			return 900
		case "process_max_fds":
			return 1000
		}
		return v
	}
}

// Each alert is raised for the unhealthy server, and none for the healthy one. Each panel of the dashboard has
// data.
func TestMonitoring(t *testing.T) {
	well := start(t, "well", "--backup-to", t.TempDir())
	sick := start(t, "sick", "--backup-to", t.TempDir(), "--tls-mode", "preferTLS", "--tls-certificate-key-file", certificates(t))
	step := 0
	w := &world{t: t, store: &store{}, servers: []*server{well, sick}, now: time.Now().Add(-rounds * interval), instead: replaced(&step)}
	for _, s := range w.servers {
		s.collections()
	}
	sick.must(bson.D{{Key: "customAction", Value: "UpdateCollection"}, {Key: "collection", Value: "orders"}, {Key: "offerThroughput", Value: 4000}})
	pair := bson.D{{Key: "shardCollection", Value: "shop.pair"}, {Key: "key", Value: bson.D{{Key: "k", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 2}}
	sick.admin(pair)
	slow := bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "alwaysOn"}, {Key: "data", Value: bson.D{
		{Key: "failCommands", Value: bson.A{"distinct"}}, {Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 1100}}}}
	sick.admin(slow)
	defect := bson.D{{Key: "configureFailPoint", Value: "failGetMoreAfterCursorCheckout"}, {Key: "mode", Value: "alwaysOn"}, {Key: "data", Value: bson.D{{Key: "panic", Value: true}}}}
	sick.admin(defect)
	for step = range rounds {
		well.traffic(step)
		sick.trouble(step)
		w.scrape(interval)
	}
	t.Run("board", w.board)
	list := rules(t)
	w.raised(list, func(alert string) bool { return alert != "CantleDown" && alert != "CantleRestarted" })
	sick.stop()
	w.scrape(interval)
	w.scrape(interval)
	w.raised(list, func(alert string) bool { return alert == "CantleDown" })
	sick.run()
	w.scrape(interval)
	w.raised(list, func(alert string) bool { return alert == "CantleRestarted" })
}

// raised checks that each wanted alert is raised for the unhealthy server, and none at all for the healthy one.
func (w *world) raised(list []rulefmt.Rule, wanted func(alert string) bool) {
	w.t.Helper()
	for _, r := range list {
		got := w.fires(r)
		if wanted(r.Alert) && !got["sick"] {
			w.t.Errorf("%s is not raised: %s", r.Alert, r.Expr)
		}
		if got["well"] {
			w.t.Errorf("%s is raised for a server that is well", r.Alert)
		}
	}
}

// panel holds the fields of a panel that the test reads.
type panel struct {
	Title   string
	Targets []struct{ Expr, LegendFormat string }
}

// board evaluates every expression of the dashboard.
func (w *world) board(t *testing.T) {
	text, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		Panels      []panel
		Annotations struct{ List []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, p := range b.Panels {
		for _, target := range p.Targets {
			asked++
			expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$database", ".*", "$collection", ".*").Replace(target.Expr)
			q, err := engine().NewInstantQuery(t.Context(), w.store, nil, expr, w.now)
			if err != nil {
				t.Fatalf("%s: %v", p.Title, err)
			}
			v, err := q.Exec(t.Context()).Vector()
			if err != nil || len(v) == 0 {
				t.Errorf("%s shows nothing (%v): %s", p.Title, err, expr)
				continue
			}
			for _, name := range []string{"instance", "database", "collection", "partition", "command"} {
				if strings.Contains(target.LegendFormat, "{{"+name+"}}") && v[0].Metric.Get(name) == "" {
					t.Errorf("%s names its lines by %s, which they do not have: %s", p.Title, name, expr)
				}
			}
			q.Close()
		}
	}
	if asked < 25 {
		t.Errorf("%d expressions were found", asked)
	}
	for _, a := range b.Annotations.List {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(a.Expr, "$instance", ".*")); err != nil {
			t.Error(err)
		}
	}
}
