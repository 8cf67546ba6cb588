package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// mixed creates the collection test.mixed with 120 documents, in which fields have different types.
func (s *server) mixed() {
	s.t.Helper()
	var docs []string
	for i := range 120 {
		n := fmt.Sprint(i)
		if i%10 == 3 {
			n = fmt.Sprintf(`{"$numberLong": "%d"}`, 9007199254740993+i)
		}
		docs = append(docs, fmt.Sprintf(`{"_id": %d, "n": %s, "who": {"first": "Ada", "age": %d}, "tags": ["a", "b"], "at": {"$date": "2024-02-29T12:00:00Z"}}`, i, n, i))
	}
	s.run("test", `{"insert": "mixed", "documents": [%s]}`, strings.Join(docs, ","))
}

// documents checks the documents of a collection as trees and as a table, with types, and their pages.
func (b *tab) documents() {
	b.open("#/collections?ns=test.mixed")
	b.check("documents are there", "document.querySelectorAll('.documents li').length === 20")
	b.fill(".sort input", "{_id: 1}")
	b.click("text=Find")
	b.check("they are sorted", "document.querySelector('.doc').innerText.includes('{_id: 0, n: 0, who: {first: \"Ada\", age: 0}')")
	b.click(".documents li:nth-child(4) .doc")
	b.check("a number that JavaScript cannot hold is whole", "document.querySelector('.tree').innerText.includes('9007199254740996')")
	b.check("types have names", "['Int32', 'Int64', 'Object · 2 fields', 'Array · 2 elements', 'Date'].every((x) => [...document.querySelectorAll('.tree .type')].some((e) => e.innerText === x))")
	b.click(".tree button")
	b.check("a document in it opens", "document.querySelector('.tree .tree').innerText.includes('Ada')")
	b.picture("documents-tree")
	b.click("text=Table")
	b.check("a table has a row for each", "document.querySelectorAll('table.grid tbody tr').length === 20")
	b.check("and the types of each column", "document.querySelector('[data-column=n]').innerText.includes('Int32, Int64')")
	b.click("[data-column=who] button")
	b.check("fields of documents become columns", "document.querySelector('[data-column=\"who.age\"]').innerText.includes('Int32')")
	b.picture("documents-table")
	charge := ask[float64](b, "parseFloat(document.querySelector('[data-charge]').innerText)")
	for i := range 4 {
		b.click("text=Next")
		b.has("the next page", fmt.Sprintf("%d–%d", 21+20*i, 40+20*i))
	}
	if last := ask[float64](b, "parseFloat(document.querySelector('[data-charge]').innerText)"); last > charge+1 {
		b.t.Errorf("the fifth page costs %v RU, the first %v", last, charge)
	}
	b.check("all pages are summed", fmt.Sprintf("parseFloat(document.querySelector('[data-all]').innerText) > %v", charge))
	b.click("text=← Previous")
	b.has("the page before", "61–80")
	b.click("text=Next")
	b.click("text=Next")
	b.has("the last page", "101–120")
	b.click("text=Next") // a full page does not show that it is the last
	b.has("has none after it", "no documents found")
	b.check("and the pages end", "[...document.querySelectorAll('button')].find((x) => x.textContent === 'Next →').disabled")
	b.click("text=Tree")
}

// pipeline checks the aggregation box.
func (b *tab) pipeline() {
	b.open("#/collections?ns=test.orders")
	b.click("#tab-aggregation")
	b.fill(".pipeline textarea", "[{$match: {total: {$gte: 50}}}, {$group: {_id: '$customer', n: {$sum: 1}}}, {$sort: {_id: 1}}]")
	b.check("the estimate is there before the run", "parseFloat(document.querySelector('[data-before]').innerText.replace(/[^0-9.]/g, '')) > 1")
	b.click("text=Explain")
	b.check("the plan has its stages", "/\\$sort[^]*\\$group[^]*(IXSCAN|COLLSCAN)/.test(document.querySelector('.plan').innerText)")
	b.check("and its bill", "parseFloat(document.querySelector('[data-bill]').innerText) > 1")
	b.picture("pipeline")
	b.click("text=Run")
	b.check("results", "document.querySelectorAll('.documents li').length === 20 && document.querySelector('.doc').innerText.startsWith('▸ {_id: \"c0\", n: ')")
	b.check("and their cost", "parseFloat(document.querySelector('[data-charge]').innerText) > 1")
	b.click("text=Next")
	b.has("their next page", "21–40")
	b.fill(".pipeline textarea", "[{$out: 'copy'}]")
	b.click("text=Run")
	b.has("a pipeline that writes is refused", "$out replaces a collection: remove the stage")
}

// compared checks that the requests of a time are shown beside those of the time before.
func (b *tab) compared() {
	b.s.pass(400)
	b.s.run("test", `{"find": "orders", "filter": {"total": 5}}`)
	b.s.run("test", `{"find": "orders", "filter": {"items.sku": 5}}`)
	b.s.pass(1)
	b.open("#/requests?ns=test.orders&range=300")
	b.has("how long the record is", "beside")
	b.has("a shape that has come", "new")
	b.s.pass(300)
	b.open("#/requests?ns=test.orders&range=300")
	b.has("a shape that has gone", "gone")
	b.check("the time before is a line", "[...document.querySelectorAll('figcaption .key')].some((x) => x.innerText.startsWith('before'))")
	b.picture("compared")
	b.do(chromedp.Navigate("about:blank"))
}

// TestShapesSurviveRestart checks that the record of query shapes survives a restart.
func TestShapesSurviveRestart(t *testing.T) {
	dir := t.TempDir()
	type reply struct {
		Shapes []struct {
			Command, Filter string
			Now             struct{ Count int64 }
		}
	}
	read := func(s *server) (count int64) {
		var r reply
		s.get("/api/v1/requests/range?ns=test.orders&from=-600").into(&r)
		for _, x := range r.Shapes {
			if x.Command == "find" && x.Filter == "{customer: ?}" {
				count += x.Now.Count
			}
		}
		return count
	}
	s := startWith(t, nil, "--data", dir)
	s.run("test", `{"insert": "orders", "documents": [{"customer": 1}]}`)
	for range 3 {
		s.run("test", `{"find": "orders", "filter": {"customer": 1}}`)
	}
	if n := read(s); n != 3 {
		t.Errorf("%d runs", n)
	}
	s.end()
	s = startWith(t, nil, "--data", dir)
	if n := read(s); n != 3 {
		t.Errorf("%d runs after the restart", n)
	}
	s.run("test", `{"find": "orders", "filter": {"customer": 2}}`)
	if n := read(s); n != 4 {
		t.Errorf("%d runs after one more", n)
	}
}
