package console

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/ratelimit"
)

// shop creates the collection test.shop with a hashed shard key t, two partitions, an index {t: 1}, and documents of one
// large and some small tenants, and then gives it a budget.
func (s *server) shop(ru int) {
	s.t.Helper()
	s.run("admin", `{"shardCollection": "test.shop", "key": {"t": "hashed"}, "numInitialChunks": 2}`)
	s.run("test", `{"createIndexes": "shop", "indexes": [{"key": {"t": 1}, "name": "t"}]}`)
	var docs []string
	for i := range 400 {
		docs = append(docs, `{"t": "acme", "pad": "`+strings.Repeat(pad, 8)+`"}`)
		if i < 100 {
			docs = append(docs, fmt.Sprintf(`{"t": "u%d", "pad": "%s"}`, i%20, pad))
		}
	}
	s.run("test", `{"insert": "shop", "documents": [%s]}`, strings.Join(docs, ","))
	s.throughput(ru)
	s.pass(2)
}

// pad makes a document of some 250 bytes.
var pad = strings.Repeat("x", 200)

// throughput sets the throughput of test.shop.
func (s *server) throughput(ru int) {
	s.t.Helper()
	s.post("/api/v1/throughput", fmt.Sprintf(`{"ns": "test.shop", "manual": %d}`, ru)).want(200)
}

// withoutRetries makes the client of the server one that does not send refused commands again.
func (s *server) withoutRetries() {
	s.t.Helper()
	before := s.client
	s.client = s.connect("", options.Client().SetRetryReads(false).SetRetryWrites(false)) // disconnected at the end of the test
	before.Disconnect(s.t.Context())
}

// charged runs a command whose reply has its charge, and returns the charge, and which of its statements were refused for
// lack of request units: by index, 0 for the only statement.
func (s *server) charged(command bson.D) (ru float64, refused []int) {
	s.t.Helper()
	raw, err := s.client.Database("test").RunCommand(s.t.Context(), append(command, bson.E{Key: "comment", Value: bson.D{{Key: "requestCharge", Value: true}}})).Raw()
	switch e := err.(type) {
	case nil:
		ru, _ = raw.Lookup("requestCharge").AsFloat64OK()
		return ru, nil
	case mongo.CommandError:
		if e.Code != ratelimit.CodeThrottled {
			s.t.Fatal(err)
		}
		return 0, []int{0}
	case mongo.WriteException:
		for _, w := range e.WriteErrors {
			if w.Code != ratelimit.CodeThrottled {
				s.t.Fatal(err)
			}
			refused = append(refused, w.Index)
		}
		return 0, refused
	}
	s.t.Fatal(err)
	return 0, nil
}

// exhaust uses up the budget of the partition of acme in the second at which the clock stands.
func (s *server) exhaust() {
	s.t.Helper()
	for range 200 {
		if _, refused := s.charged(findOf("acme")); refused != nil {
			return
		}
	}
	s.t.Fatal("nothing is refused")
}

func findOf(tenant string) bson.D {
	return bson.D{{Key: "find", Value: "shop"}, {Key: "filter", Value: bson.D{{Key: "t", Value: tenant}}}, {Key: "batchSize", Value: 1000}}
}

// TestUsableWhileThrottled checks that the console answers while a client has used up the budget of a collection, and
// that this takes no request units from the collection and changes none of its statistics.
func TestUsableWhileThrottled(t *testing.T) {
	s := start(t)
	s.withoutRetries()
	s.stop()
	s.shop(400)
	for i := range 5 {
		s.charged(findOf(fmt.Sprint("u", i)))
	}
	s.exhaust()
	s.charged(findOf("u1"))
	sums := func() string {
		t.Helper()
		var parts struct {
			Partitions []struct {
				RUTotal   float64
				Throttled int64
			}
		}
		s.get("/api/v1/partitions?ns=test.shop").into(&parts)
		var shapes struct {
			RUTotal  float64
			Shapes   int
			Requests []struct {
				Filter    string
				Costliest struct{ Filter struct{ T string } }
			}
		}
		s.get("/api/v1/requests?ns=test.shop").into(&shapes)
		for _, r := range shapes.Requests {
			if r.Filter == "{t: ?}" && r.Costliest.Filter.T != "acme" {
				t.Errorf("the costliest run was of %q", r.Costliest.Filter.T)
			}
		}
		text, err := json.Marshal([]any{parts, shapes})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := sums()
	s.post("/api/v1/find", `{"ns": "test.shop", "filter": "{t: 'acme'}", "limit": 10}`).want(200, `"documents":[{"_id"`, `"more":true`)
	var page struct{ Cursor string }
	s.post("/api/v1/find", `{"ns": "test.shop", "filter": "{t: 'acme'}", "limit": 10, "cursor": true, "typed": true}`).into(&page)
	s.post("/api/v1/cursor/next", `{"ns": "test.shop", "limit": 10, "cursor": "`+page.Cursor+`"}`).want(200, `"documents":[{"_id"`, `"more":true`)
	s.post("/api/v1/cursor/close", `{"ns": "test.shop", "cursor": "`+page.Cursor+`"}`).want(200, `"cursorsKilled":[`)
	s.post("/api/v1/aggregate", `{"ns": "test.shop", "pipeline": "[{$match: {t: 'acme'}}, {$count: 'n'}]"}`).want(200, `"documents":[{"n":400}]`, `"charge":`)
	s.post("/api/v1/explain", `{"ns": "test.shop", "filter": "{t: ?}", "run": true}`).want(200, `"executionStats"`, `"t":"acme"`, `"nReturned":400`)
	s.post("/api/v1/advise", `{"ns": "test.shop"}`).want(200, "distinct")
	if after := sums(); after != before {
		t.Errorf("the console changed the statistics of the collection: %s, before %s", after, before)
	}
	if _, refused := s.charged(findOf("acme")); refused == nil {
		t.Error("the budget is no longer used up")
	}
}

// aLoad is a load on test.shop.
type aLoad struct {
	*server
	next    int      // number of the next document
	backlog []bson.D // refused documents that are sent again
	refused int
	ru      float64
}

// insert inserts documents of tenants, in one command, and keeps the refused ones.
func (l *aLoad) insert(tenants ...string) {
	docs := l.backlog
	for _, t := range tenants {
		docs = append(docs, bson.D{{Key: "_id", Value: l.next}, {Key: "t", Value: t}, {Key: "pad", Value: pad}})
		l.next++
	}
	ru, refused := l.charged(bson.D{{Key: "insert", Value: "shop"}, {Key: "ordered", Value: false}, {Key: "documents", Value: docs}})
	l.ru, l.refused, l.backlog = l.ru+ru, l.refused+len(refused), nil
	for _, i := range refused {
		l.backlog = append(l.backlog, docs[i])
	}
}

// find reads all documents of a tenant.
func (l *aLoad) find(tenant string) {
	ru, refused := l.charged(findOf(tenant))
	l.ru, l.refused = l.ru+ru, l.refused+len(refused)
}

// tenants returns n names of tenants, of which every hot-th is "hot", none with 0.
func tenants(n, hot int) (out []string) {
	for i := range n {
		if hot > 0 && i%hot == 0 {
			out = append(out, "hot")
		} else {
			out = append(out, fmt.Sprint("u", i%20))
		}
	}
	return out
}

// TestWhatIfHolds records loads under throttling, predicts the throughput that they need, runs them at that throughput,
// and compares.
func TestWhatIfHolds(t *testing.T) {
	const seconds, recordedAt = 8, 400
	for name, one := range map[string]struct {
		exact  string // the end of the range at which the truth is
		second func(l *aLoad)
	}{
		"even":                     {"both", func(l *aLoad) { l.backlog = nil; l.insert(tenants(200, 0)...) }},
		"hot, both at their limit": {"both", func(l *aLoad) { l.backlog = nil; l.insert(tenants(300, 2)...) }},
		"expensive query, cheap inserts": {"most", func(l *aLoad) {
			l.backlog = nil
			l.find("acme")
			l.insert(tenants(60, 0)...)
			l.find("u1")
		}},
		"sent again": {"least", func(l *aLoad) { l.insert(tenants(100, 0)...) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			s.withoutRetries()
			s.stop()
			s.shop(10 * recordedAt) // the queries have run before
			s.charged(findOf("acme"))
			s.charged(findOf("u1"))
			s.throughput(recordedAt)
			s.pass(10)
			l := &aLoad{server: s}
			var predicted, actual struct {
				Enough, EnoughLeast, Refused, RefusedLeast float64
				Demand                                     []float64
			}
			run := func() {
				l.refused, l.ru, l.backlog = 0, 0, nil
				for range seconds {
					one.second(l)
					s.pass(1)
				}
			}
			run()
			if l.refused == 0 {
				t.Fatal("nothing was refused")
			}
			s.post("/api/v1/replay", fmt.Sprintf(`{"ns": "test.shop", "ru": %d, "from": -%d}`, recordedAt, seconds)).into(&predicted)
			enough, share := predicted.Enough, predicted.Refused
			if one.exact == "least" {
				enough, share = predicted.EnoughLeast, predicted.RefusedLeast
			}
			if one.exact == "both" && predicted.Enough != predicted.EnoughLeast {
				t.Errorf("a range %v to %v without a reason", predicted.EnoughLeast, predicted.Enough)
			}
			s.throughput(int(enough))
			s.pass(10)
			run()
			if l.refused != 0 {
				t.Errorf("at %v RU/s %d statements are refused", enough, l.refused)
			}
			s.post("/api/v1/replay", fmt.Sprintf(`{"ns": "test.shop", "ru": %d, "from": -%d}`, recordedAt, seconds)).into(&actual)
			for _, x := range []struct {
				what            string
				got, want, step float64 // RU/s are provisioned in steps
			}{{"needed RU/s", enough, actual.Enough, 100}, {"RU", sumOf(predicted.Demand), l.ru, 0}} {
				if x.what == "RU" && one.exact == "least" {
					continue // the chart shows each attempt
				}
				if math.Abs(x.got-x.want) > max(0.1*x.want, x.step) {
					t.Errorf("%s: predicted %v, then measured %v", x.what, x.got, x.want)
				}
			}
			if math.Abs(share-actual.Refused) > 0.1 {
				t.Errorf("at %d RU/s: the recording says that %v of the RU are refused, the load without refusals %v", recordedAt, share, actual.Refused)
			}
			t.Logf("from %v to %v RU/s predicted, %v needed; %.0f RU predicted, %.0f charged", predicted.EnoughLeast, predicted.Enough, actual.Enough, sumOf(predicted.Demand), l.ru)
		})
	}
}

func sumOf(list []float64) (sum float64) {
	for _, v := range list {
		sum += v
	}
	return sum
}
