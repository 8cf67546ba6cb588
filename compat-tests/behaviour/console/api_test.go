package console

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// heatReply holds the fields of /heat that tests read.
type heatReply struct {
	Step, From int64
	Columns    int
	Pattern    struct {
		Kind, Text string
		Partition  int
	}
	Rows []struct {
		Partition int
		NS        string
		First     int64
		Until     int64
		Cells     []byte
	}
}

func TestHistory(t *testing.T) {
	s := start(t)
	s.stop()
	s.orders()
	s.pass(1)
	for range 20 {
		s.run("test", `{"find": "orders", "filter": {"customer": "c7"}}`)
		s.pass(1)
	}
	var lines struct {
		Step, From int64
		RU, Reads  []float64
		Writes     []float64
	}
	s.get("/api/v1/lines?from=-21").into(&lines)
	if len(lines.RU) != 21 || lines.Step != 1 || lines.Writes[0] != 4 || lines.Reads[5] != 1 || lines.RU[5] < 2 || lines.RU[5] > 4 {
		t.Errorf("%+v", lines)
	}
	var h heatReply
	s.get("/api/v1/heat?ns=test.orders&metric=reads&from=-20").into(&h)
	if h.Columns != 20 || len(h.Rows) != 4 || h.Pattern.Kind != "even" || !strings.Contains(h.Pattern.Text, "too small to be judged") {
		t.Errorf("%+v", h)
	}
	s.post("/api/v1/partitions/split", `{"ns": "test.orders", "id": "0"}`).want(200)
	s.post("/api/v1/throughput", `{"ns": "test.orders", "manual": 4000}`).want(200)
	s.pass(1)
	s.get("/api/v1/events?ns=test.orders").want(200, "partition 0 became 4, 5", "from no limit to 4000 RU/s (manual)")
	s.get("/api/v1/heat?ns=test.orders&metric=speed").want(400, "metric is ru, reads")
	s.get("/api/v1/lines?from=x").want(400, "from is a whole number")
	s.get("/api/v1/heat?ns=orders").want(400, "a database and a collection")
}

// TestThrottled checks that the console warns of a partition that refuses requests, and that a replay computes a
// budget (RU/s) that would suffice.
func TestThrottled(t *testing.T) {
	s := start(t)
	s.stop()
	s.run("test", `{"customAction": "CreateCollection", "collection": "small", "shardKey": "k", "offerThroughput": 400}`)
	pad := strings.Repeat("x", 900)
	for range 10 {
		docs := bson.A{}
		for i := range 100 {
			docs = append(docs, bson.D{{Key: "k", Value: i}, {Key: "pad", Value: pad}})
		}
		_ = s.client.Database("test").RunCommand(t.Context(), bson.D{{Key: "insert", Value: "small"}, {Key: "documents", Value: docs}, {Key: "ordered", Value: false}})
		s.pass(1)
	}
	s.get("/api/v1/warnings").want(200, `"kind":"throttled"`, "the only partition is at its limit of 400 RU/s: ", "requests refused in the last minute")
	var l struct {
		Refused   []float64
		RefusedBy map[string][]float64
	}
	s.get("/api/v1/lines?from=-20").into(&l)
	if by := l.RefusedBy["partition"]; len(l.RefusedBy) != 1 || len(by) == 0 || slices.Max(by) == 0 || !slices.Equal(by, l.Refused) {
		t.Errorf("refused %v, by limit %v", l.Refused, l.RefusedBy)
	}
	var r struct {
		Refused, Enough float64
		RefusedColumns  int
		Demand          []float64
	}
	s.post("/api/v1/replay", `{"ns": "test.small", "ru": 400, "from": -10}`).into(&r)
	if r.Refused < 0.1 || r.RefusedColumns < 9 || r.Enough < 500 {
		t.Errorf("%+v", r)
	}
	s.post("/api/v1/replay", `{"ns": "test.small", "ru": 4000, "from": -10}`).into(&r)
	if r.Refused != 0 {
		t.Errorf("with ten times as much: %+v", r)
	}
	s.post("/api/v1/replay", `{"ns": "test.none", "ru": 400}`).want(400, "No traffic of test.none was recorded")
}

func TestDocuments(t *testing.T) {
	s := start(t)
	s.orders()
	var page struct {
		Documents []struct {
			ID    int `json:"_id"`
			Total int
		}
		Charge   float64
		Estimate struct{ Total float64 }
		More     bool
	}
	s.post("/api/v1/find", `{"ns": "test.orders", "filter": "{total: {$gte: 90}}", "sort": "{_id: 1}", "limit": 3, "skip": 1}`).into(&page)
	if len(page.Documents) != 3 || page.Documents[0].ID != 91 || !page.More || page.Charge < 10 || page.Estimate.Total <= 0 {
		t.Errorf("%+v", page)
	}
	s.post("/api/v1/find", `{"ns": "test.orders", "filter": "{total: "}`).want(400, "filter:")
	s.post("/api/v1/find", `{"ns": "test.orders", "filter": {"$nope": 1}}`).want(400, "BadValue")
	s.post("/api/v1/explain", `{"ns": "test.orders", "filter": "{ customer: ?, total: {$gt: ?} }"}`).want(200, "SINGLE_SHARD", `"requestChargeEstimate"`)
	s.post("/api/v1/explain", `{"ns": "test.orders", "filter": "{total: {$in: ?}}", "run": true}`).want(200, "SHARD_MERGE", `"executionStats"`)
	s.post("/api/v1/documents/insert", `{"ns": "test.orders", "document": "{_id: 1000}"}`).want(403, "--console-write")
	s.get("/api/v1/collections").want(200, `"ns":"test.orders"`, `"key":{"customer":"hashed"}`, `"documents":200`)
	s.post("/api/v1/collection/index", `{"ns": "test.orders", "key": "{total: 1}"}`).want(200)
	s.get("/api/v1/collection?ns=test.orders").want(200, `"name":"total_1"`, `"accesses"`)
	s.get("/api/v1/partitions?ns=test.orders&top=1").want(200, `"hottestByRU"`, `"shardKeyDefinition":{"customer":"hashed"}`)
	s.run("test", `{"find": "orders", "filter": {"customer": "c1"}}`)
	s.get("/api/v1/requests?ns=test.orders").want(200, `"command":"find"`, `"ruPercent"`, `"filter":"{customer: ?}"`)
	s.get("/api/v1/operations").want(200, `"appName":"cantle console"`, `"all":true`)
	s.post("/api/v1/operations/kill", `{"id": 999999999}`).want(200)
	s.post("/api/v1/partitions/merge", `{"ns": "test.orders", "whatIf": true}`).want(200, `"before":4`)
}

// TestTools checks that the console's API returns the output of the verbs cantle advise and cantle estimate.
func TestTools(t *testing.T) {
	s := start(t)
	s.orders()
	s.run("test", `{"find": "orders", "filter": {"customer": "c7"}}`)
	s.post("/api/v1/advise", `{"ns": "test.orders"}`).want(200, "shard key", "customer *", "Best:")
	s.post("/api/v1/advise", `{"ns": "test.none"}`).want(404)
	s.post("/api/v1/estimate", `{"document": "{device: 1, at: 5}", "args": ["--shard-key", "device", "--inserts", "1000"]}`).want(200, "offerThroughput:", "insert")
	s.post("/api/v1/estimate", `{"document": "{device: ", "args": []}`).want(400)
	s.post("/api/v1/estimate", `{"document": "{}", "args": ["/etc/passwd"]}`).want(400, "expected one file")
	s.post("/api/v1/estimate", `{"document": "{}", "args": ["--nonsense"]}`).want(400, "nonsense")
}

func TestWrites(t *testing.T) {
	s := start(t, "--console-write")
	s.orders()
	s.post("/api/v1/documents/insert", `{"ns": "test.orders", "document": "{_id: 1000, customer: 'new'}"}`).want(200, `"requestCharge"`)
	s.post("/api/v1/documents/insert", `{"ns": "test.orders", "document": "{_id: 1000, customer: 'new'}"}`).want(400, "DuplicateKey")
	s.post("/api/v1/documents/replace", `{"ns": "test.orders", "id": 1000, "document": {"customer": "new", "total": 5}}`).want(200, `"nModified":1`)
	s.post("/api/v1/find", `{"ns": "test.orders", "filter": {"_id": 1000}}`).want(200, `"total":5`)
	s.post("/api/v1/documents/delete", `{"ns": "test.orders", "id": 1000}`).want(200, `"n":1`)
}

// TestLive checks that the console's live stream sends the data of each second, as server-sent events.
func TestLive(t *testing.T) {
	s := start(t)
	s.stop()
	s.orders()
	s.pass(3)
	r, err := http.Get(s.url + "/api/v1/live")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if k := r.Header.Get("Content-Type"); k != "text/event-stream" {
		t.Errorf("a %s", k)
	}
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	for seen := 0; lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var f struct {
			Second int64
			Lines  struct{ RU []float64 }
		}
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 1 {
			s.run("test", `{"find": "orders"}`)
			s.pass(1)
		} else if len(f.Lines.RU) != 1 || f.Lines.RU[0] < 10 {
			t.Errorf("%+v", f)
		} else {
			return
		}
	}
	t.Error("the stream has ended")
}

func TestHealth(t *testing.T) {
	s := start(t)
	s.get("/healthz").want(200, "ok")
	s.get("/readyz").want(200, "ready")
	s.get("/api/v1/nothing").want(404, "docs/console.md")
	s.post("/api/v1/heat", `{}`).want(404)
	s.get("/api/v1/server").want(200, `"auth":false`, `"virtual":false`)
}

// listed returns the addresses of the API.
func listed(t *testing.T) map[string]bool {
	t.Helper()
	source, err := os.ReadFile("../../../serve/console/routes.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{"GET /live": true}
	for _, m := range regexp.MustCompile(`\{"(GET|POST)", "(/[a-z/]+)"`).FindAllStringSubmatch(string(source), -1) {
		out[m[1]+" "+m[2]] = true
	}
	return out
}

// TestDocumented checks that docs/console.md lists every address of the console's API, and no other.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := listed(t)
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(GET|POST) (/[a-z/]+)`").FindAllStringSubmatch(string(text), -1) {
		told[m[1]+" "+m[2]] = true
	}
	for x := range listed {
		if !told[x] {
			t.Errorf("docs/console.md does not tell of %s", x)
		}
	}
	for x := range told {
		if !listed[x] {
			t.Errorf("docs/console.md tells of %s, which there is not", x)
		}
	}
}
