package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// shopLoad is the load of the story of docs/console.md: many tenants send cheap requests to shop.orders, which has two
// partitions and a budget, and from some second on a report of one tenant sends an expensive query, more often than its
// partition allows.
type shopLoad struct {
	*server
	reports       *mongo.Client // sends the query
	hot           string        // the tenant
	second        int
	sent, refused int // queries of the report
	othersRefused int
}

// prepare creates the collection, without an index for the query.
func (l *shopLoad) prepare() {
	l.t.Helper()
	l.run("admin", `{"shardCollection": "shop.orders", "key": {"tenant": "hashed"}, "numInitialChunks": 2}`)
	var docs []string
	for i := range 900 {
		tenant := l.hot
		if i >= 600 {
			tenant = fmt.Sprintf("t%d", i%30)
		}
		docs = append(docs, fmt.Sprintf(`{"_id": %d, "tenant": "%s", "order": %d, "status": "%s", "pad": "%s"}`, i, tenant, i, []string{"open", "paid", "sent"}[min(2, i%20)], pad))
	}
	l.run("shop", `{"insert": "orders", "documents": [%s]}`, strings.Join(docs, ","))
	l.pass(1)
	l.run("shop", `{"customAction": "UpdateCollection", "collection": "orders", "offerThroughput": 400}`)
	l.pass(900) // the inserts lie outside of the charts
}

// next runs the load of one second.
func (l *shopLoad) next(burst bool) {
	l.t.Helper()
	db := l.client.Database("shop")
	for j := range 4 {
		command := bson.D{{Key: "find", Value: "orders"}, {Key: "filter", Value: bson.D{{Key: "tenant", Value: fmt.Sprintf("t%d", (l.second*4+j)%30)}, {Key: "order", Value: l.second}}}}
		if db.RunCommand(l.t.Context(), command).Err() != nil {
			l.othersRefused++
		}
	}
	for range 12 {
		if !burst {
			break
		}
		l.sent++
		command := bson.D{{Key: "find", Value: "orders"}, {Key: "filter", Value: bson.D{{Key: "tenant", Value: l.hot}, {Key: "status", Value: "open"}}}}
		if l.reports.Database("shop").RunCommand(l.t.Context(), command).Err() != nil {
			l.refused++
		}
	}
	l.second++
	l.pass(1)
}

// TestStory checks the story of docs/console.md: an operator opens the page while a budget is hit, with two partitions.
// The page names the hot value; the cause of the load and its remedy are three clicks away; and the remedy works.
func TestStory(t *testing.T) {
	s := start(t)
	s.withoutRetries()
	l := &shopLoad{server: s, hot: "acme"}
	l.reports = s.connect("", options.Client().SetRetryReads(false).SetAppName("nightly-report"))
	t.Cleanup(func() { l.reports.Disconnect(t.Context()) })
	s.stop()
	l.prepare()
	for i := range 120 {
		l.next(i >= 60)
	}
	if l.refused < l.sent/4 || l.refused > l.sent*9/10 {
		t.Fatalf("%d of %d queries were refused", l.refused, l.sent)
	}
	b := browse(t, s, 1280, 900)
	clicks := 0
	click := func(selector string) { clicks++; b.click(selector) }
	picture := func(name string) { keep(t, name, b.picture(name)) }

	b.do(chromedp.Navigate(s.url), chromedp.WaitVisible("nav", chromedp.ByQuery))
	b.check("it is live", "document.querySelector('.live.on')")
	b.check("the page opens on a hot partition at its limit", "/of the load of 2 partitions and is at its limit of 200 RU.s/.test(document.querySelector('.warnings li.hot').innerText)")
	b.check("with the value behind it, and what was refused", "/[0-9]+ requests refused in the last minute; acme takes [0-9]+ %/.test(document.querySelector('.warnings li.hot').innerText)")
	b.has("and the application from which they come", "by application nightly-report")
	b.check("all of it is in sight", "(() => { const e = document.querySelector('.warnings li.hot .cause'); return e.scrollHeight <= e.clientHeight + 1; })()")
	picture("story-1")

	click("text=Which requests?")
	b.check("the cause is open", "document.querySelector('.detail h2').innerText.includes('{tenant: ?, status: ?}') && document.querySelector('.detail .chart canvas')")
	b.check("with the application that sends it", "document.querySelector('.callers').innerText.includes('nightly-report')")
	b.check("it was refused", "parseInt(document.querySelector('tr.chosen td:last-child').innerText.replace(/\\D/g, '')) > 100")
	b.check("and is new, beside the time before", "document.querySelector('tr.chosen .delta').innerText === 'new'")
	picture("story-2")

	click("text=Create index {tenant: 1, status: 1}")
	b.check("the remedy is asked about", "document.querySelector('dialog[open]').innerText.includes('An index {tenant: 1, status: 1}')")
	clicks++
	b.confirm()
	if clicks != 3 {
		t.Errorf("%d clicks", clicks)
	}

	s.pass(2)
	before, others := l.refused, l.othersRefused
	for range 75 {
		l.next(true)
	}
	if l.refused != before || l.othersRefused != others {
		t.Errorf("with the index, %d queries of the tenant and %d others were refused", l.refused-before, l.othersRefused-others)
	}
	b.open("#/now?range=300")
	b.check("it is live again", "document.querySelector('.live.on')")
	b.check("nothing is refused any more", "document.querySelector('[data-number=refused]').innerText === '0'")
	b.check("no partition is at its limit", "document.querySelector('main > .warnings, main > .fine') && ![...document.querySelectorAll('main > .warnings li')].some((x) => x.innerText.includes('at its limit'))")
	picture("story-3")
}
