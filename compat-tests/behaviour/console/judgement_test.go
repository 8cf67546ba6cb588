package console

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// judgement holds the fields of the console's replies that judge the load of partitions.
type judgement struct {
	Pattern struct {
		Kind, Text string
		Partition  int
	}
	Warnings []struct {
		ID, Kind, NS, Text, Value string
		Partition                 int
		Share, Refused            float64
		Since, Last               int64
		Active                    bool
		Next                      []struct{ Text, View, X string }
	}
}

// judge returns the judgements of the heat map of refusals, and the warnings.
func (s *server) judge(ns string) (j judgement) {
	s.t.Helper()
	s.get("/api/v1/heat?metric=refused&ns=" + ns).into(&j)
	s.get("/api/v1/warnings").into(&j)
	return j
}

// hotPair starts a server with a stopped clock and the collection shop.orders, which has two partitions and 400 RU/s,
// and makes one of the partitions hot for 65 seconds.
func hotPair(t *testing.T) *server {
	t.Helper()
	s := start(t)
	s.stop()
	s.run("admin", `{"shardCollection": "shop.orders", "key": {"tenant": "hashed"}, "numInitialChunks": 2}`)
	s.run("shop", `{"customAction": "UpdateCollection", "collection": "orders", "offerThroughput": 400}`)
	s.pass(1)
	s.inserts(65, 80, 4)
	return s
}

// inserts sends one batch of inserts a second, most of which are refused: of one tenant, and of others.
func (s *server) inserts(seconds, hot, others int) {
	s.t.Helper()
	for second := range seconds {
		var docs []string
		for i := range hot {
			docs = append(docs, fmt.Sprintf(`{"tenant": "acme", "n": %d}`, i))
		}
		for i := range others {
			docs = append(docs, fmt.Sprintf(`{"tenant": "t%d"}`, second*others+i))
		}
		s.try("shop", fmt.Sprintf(`{"insert": "orders", "ordered": false, "documents": [%s]}`, strings.Join(docs, ",")))
		s.pass(1)
	}
}

// TestJudgementsUnderABudget checks, on a server with two partitions and a budget that is hit, that the heat map, the
// warnings, the partitions, the request report and serverStatus judge alike: a hot partition, then all at the limit,
// then no load; and that the warnings go when their cause has gone.
func TestJudgementsUnderABudget(t *testing.T) {
	s := hotPair(t)
	j := s.judge("shop.orders")
	if j.Pattern.Kind != "hot" || !strings.Contains(j.Pattern.Text, "at the limit of 200 RU/s and refused") {
		t.Errorf("the heat map: %+v", j.Pattern)
	}
	w := j.Warnings[0]
	if w.Kind != "hot" || !w.Active || w.NS != "shop.orders" || w.Partition != j.Pattern.Partition || w.Refused < 1000 || w.Share < 0.8 || !strings.Contains(w.Value, "acme") ||
		w.Last-w.Since < 50 || !strings.Contains(w.Text, "requests refused in the last minute") || !strings.Contains(w.Text, "acme takes ") || len(w.Next) < 3 {
		t.Errorf("the warning: %+v", w)
	}
	s.agree(t, "hot", "has ")
	report := s.run("shop", `{"customAction": "GetRequestReport", "collection": "orders"}`)
	shape := report["requests"].(bson.A)[0].(bson.D)
	count := map[string]any{}
	for _, e := range shape {
		count[e.Key] = e.Value
	}
	if n, _ := count["throttledDocuments"].(int64); n < 1000 || !strings.Contains(fmt.Sprint(count["warnings"]), "refused: ") {
		t.Errorf("the report: %v", shape)
	}

	s.inserts(185, 0, 150) // longer than the newest part of the time, by which the heat map is judged
	if j = s.judge("shop.orders"); j.Pattern.Kind != "full" || j.Warnings[0].Kind != "throttled" || !strings.Contains(j.Warnings[0].Text, "all 2 partitions are at their limit or near it: ") {
		t.Errorf("all at the limit: %+v", j)
	}
	s.agree(t, "full", "All 2 partitions are at their limit")

	s.pass(120)
	if j = s.judge("shop.orders"); j.Pattern.Kind != "ended" || len(j.Warnings) == 0 || j.Warnings[0].Active {
		t.Errorf("no load: %+v", j)
	}
	s.pass(900)
	if j = s.judge("shop.orders"); len(j.Warnings) > 0 {
		t.Errorf("after the time: %+v", j)
	}
}

// agree checks that the commands judge the load of shop.orders as the console does.
func (s *server) agree(t *testing.T, kind, text string) {
	t.Helper()
	for name, reply := range map[string]bson.M{
		"GetPartitions":    s.run("shop", `{"customAction": "GetPartitions", "collection": "orders"}`),
		"GetRequestReport": s.run("shop", `{"customAction": "GetRequestReport", "collection": "orders"}`),
		"serverStatus":     s.run("admin", `{"serverStatus": 1, "partitionLoad": true}`),
	} {
		load := fmt.Sprint(reply["load"], reply["partitionLoad"])
		if !strings.Contains(load, kind) || !strings.Contains(load, text) {
			t.Errorf("%s: %s", name, load)
		}
	}
}

// TestWarningLines checks that the page shows the cause of a hot partition with its value and links, above the charts,
// folds further warnings, and mutes a warning in this browser.
func TestWarningLines(t *testing.T) {
	s := hotPair(t)
	b := browse(t, s, 1440, 900)
	b.open("#/now")
	b.has("the value is named", "acme takes ")
	b.has("and the client that uses it", "100 % of the RU by a client of the driver mongo-go-driver")
	b.check("the charts are above the fold", "document.querySelector('.charts').getBoundingClientRect().top < 450")
	b.check("it has next steps", "[...document.querySelectorAll('.warnings li.hot .next a')].map(a => a.textContent).join() === 'Advise a shard key,Which requests?,Scale'")
	b.picture("warnings")
	b.click("text=Mute")
	b.has("it is muted", "1 muted")
	b.check("and folded", "!document.querySelector('ul[aria-label=Warnings] li.hot')")
	b.open("#/partitions?ns=shop.orders")
	b.open("#/now")
	b.has("it stays so in this browser", "1 muted")
	b.click(".folded summary")
	b.click("text=Unmute")
	b.check("it is shown again", "document.querySelector('ul[aria-label=Warnings] li.hot')")
	b.click("text=Which requests?")
	b.check("the refused shape is marked", "[...document.querySelectorAll('main tbody tr')].some(r => r.innerText.includes('insert') && r.innerText.includes('refused'))")
	b.open("#/heat?ns=shop.orders&metric=refused")
	b.has("the heat map says so", "Hot line")
	b.has("with the limit", "at the limit of 200 RU/s and refused")
	b.picture("heat-refused")
}
