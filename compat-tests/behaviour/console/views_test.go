package console

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestViews opens the views of the console one after the other in a browser, uses the controls of each, and checks what
// the page shows.
func TestViews(t *testing.T) {
	s := start(t, "--console-write")
	s.stop()
	s.orders()
	s.pass(1)
	s.run("test", `{"customAction": "UpdateCollection", "collection": "orders", "offerThroughput": 4000}`)
	s.run("test", `{"createIndexes": "orders", "indexes": [{"key": {"total": 1}, "name": "total_1"}]}`)
	s.pass(1)
	s.mixed()
	s.burst(60)
	b := browse(t, s, 1400, 1000)
	t.Run("now", func(t *testing.T) { b.t = t; b.now() })
	t.Run("heat", func(t *testing.T) { b.t = t; b.heat() })
	t.Run("partitions", func(t *testing.T) { b.t = t; b.partitions() })
	t.Run("split", func(t *testing.T) { b.t = t; b.split() })
	t.Run("requests", func(t *testing.T) { b.t = t; b.requests() })
	t.Run("collections", func(t *testing.T) { b.t = t; b.collections() })
	t.Run("documents", func(t *testing.T) { b.t = t; b.documents() })
	t.Run("pipeline", func(t *testing.T) { b.t = t; b.pipeline() })
	t.Run("operations", func(t *testing.T) { b.t = t; b.operations() })
	t.Run("whatif", func(t *testing.T) { b.t = t; b.whatIf() })
	t.Run("server", func(t *testing.T) { b.t = t; b.server() })
	t.Run("frame", func(t *testing.T) { b.t = t; b.frame() })
	t.Run("compared", func(t *testing.T) { b.t = t; b.compared() })
	b.t = t
}

func (b *tab) now() {
	b.open("#/now")
	b.check("a number of RU/s", "Number(document.querySelector('[data-number=ru]').textContent) > 10")
	b.check("four charts are drawn", "document.querySelectorAll('.chart canvas').length === 4")
	b.check("it is live", "document.querySelector('.live.on')")
	b.has("the fan-out is warned of", "fan-out")
	b.has("a hot partition is warned of", "of the load of 4 partitions")
	b.has("the scaling has happened", "4000 RU/s (manual)")
	b.picture("now")
	b.s.run("test", `{"find": "orders"}`)
	b.s.pass(1)
	b.check("the next second arrives by itself", "!document.querySelector('[data-number=ru]').textContent.startsWith('35')")
	b.click(".warnings li.hot a")
	b.check("a warning leads to its cause", "location.hash.startsWith('#/heat?ns=test.orders')")
}

func (b *tab) heat() {
	b.open("#/heat?ns=test.orders")
	b.has("the pattern is named", "Hot line")
	b.has("with the value behind it", `customer: "c7"`)
	b.check("cells are painted", "(() => { const c = document.querySelector('.heat-box canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const s = new Set(); for (let i = 0; i < d.length; i += 4000) s.add(d[i] + d[i+1] * 256); return s.size > 3; })()")
	b.do(chromedp.SetValue(".bar-of-controls select", "limit"), chromedp.Evaluate("document.querySelector('.bar-of-controls select').dispatchEvent(new Event('change'))", nil))
	b.has("the colours follow the share of the limit", "100 % of its RU/s")
	b.check("the address has the scale", "location.hash.includes('scale=limit')")
	b.open("#/heat?ns=test.orders&scale=linear")
	b.check("a linear scale begins at 0", "document.querySelector('.scale span').textContent === '0'")
	b.open("#/heat?ns=test.orders")
	b.check("a scale ends with its address", "document.querySelector('.scale span') && document.querySelector('.scale span').textContent !== '0'")
	b.do(mouse("mouseMoved", ".heat-box canvas:last-child", 0.99, 0.9))
	b.check("the tooltip tells the partition", "/partition \\d+/.test(document.querySelector('.told').innerText) && document.querySelector('.told').innerText.includes('RU/s')")
	b.do(mouse("mousePressed", ".heat-box canvas:last-child", 0.99, 0.9), mouse("mouseReleased", ".heat-box canvas:last-child", 0.99, 0.9))
	b.check("a click pins it", "document.querySelector('.told.pinned')")
	b.picture("heat")
	cell := ask[[]string](b, "[location.hash, document.querySelector('.told.pinned').innerText]")
	b.click("text=Unpin")
	b.check("unpinned", "!document.querySelector('.told.pinned')")
	b.do(chromedp.Evaluate("history.back()", nil))
	b.check("the back button pins it again", "document.querySelector('.told.pinned')")
	b.click("text=15 min")
	b.open(cell[0])
	b.check("the address leads to the cell", fmt.Sprintf("document.querySelector('.told.pinned').innerText === %q", cell[1]))
	b.click("text=Unpin")
	b.do(mouse("mousePressed", ".heat-box canvas:last-child", 0.96, 0.5), mouse("mouseMoved", ".heat-box canvas:last-child", 0.98, 0.5), mouse("mouseReleased", ".heat-box canvas:last-child", 0.98, 0.5))
	b.check("dragging selects a time", "location.hash.includes('brush=') && document.querySelector('.top .brush')")
	b.picture("heat-brush")
	b.click("nav li:nth-child(3) a")
	b.has("the selection moves the other views", "Share of RU, selected")
	b.check("for it is in their address", "location.hash.includes('brush=')")
	b.click(".top .brush")
	b.check("and ends", "!location.hash.includes('brush=')")
	b.open("#/heat?ns=test.orders")
	b.click("text=Writes")
	b.check("another metric", "location.hash.includes('metric=writes') && document.querySelector('main button[aria-pressed=true]').textContent === 'Writes'")
	b.do(keys(".heat-box canvas:last-child", "ArrowLeft", "ArrowLeft", "ArrowDown", "Enter"))
	b.check("it is used by keyboard as well", "document.querySelector('.told.pinned')")
	b.check("and tells who listens what is under the pointer", "/partition \\d+.*documents\\/s/s.test(document.querySelector('[aria-live=polite] .told').innerText)")
	b.do(keys(".heat-box canvas:last-child", "Escape", "shift+ArrowLeft", "shift+ArrowLeft", "shift+ArrowLeft"))
	b.check("shift and arrows select a time", "/brush=\\d+-\\d+/.test(location.hash)")
	b.do(keys(".heat-box canvas:last-child", "Escape"))
	b.check("escape ends that", "!location.hash.includes('brush=')")
	b.click("text=1 h")
	b.check("another time", "location.hash.includes('range=3600')")
}

func (b *tab) partitions() {
	b.open("#/partitions?ns=test.orders")
	b.check("four partitions", "document.querySelectorAll('tbody tr').length === 4")
	b.has("their throughput", "1\u202f000")
	b.check("the hottest is first", "parseInt(document.querySelector('tbody .bar.hot').innerText) > 50")
	b.click("tbody tr button.plain")
	b.has("its costliest values", `{customer: "c7"}`)
	b.picture("partitions")
	b.click("text=Split…")
	b.check("a split is asked about", "document.querySelector('dialog[open]').innerText.includes('becomes two partitions with half of its range each')")
	b.confirm()
	b.check("and done", "document.querySelectorAll('tbody tr').length === 5")
	b.click("text=Distribute evenly…")
	b.check("so is dividing evenly", "document.querySelector('dialog[open]').innerText.includes('All 5 partitions get the same share')")
	b.confirm()
	b.click("text=Merge…")
	b.check("a merge tells first what would be", "document.querySelector('dialog[open]').innerText.includes('5 partitions would become')")
	b.cancel()
	b.fill("input[type=number]", "6000")
	b.click("text=Scale…")
	b.check("scaling is asked about", "document.querySelector('dialog[open]').innerText.includes('gets 6')")
	b.confirm()
	b.has("and done", "1\u202f200")
}

// split checks that the heat map shows a split of a partition: a line from the time of the split to the right edge.
func (b *tab) split() {
	b.s.pass(9)
	b.open("#/heat?ns=test.orders")
	b.check("the split is drawn in", "(() => { const c = document.querySelector('.heat-box canvas:last-child'); const d = c.getContext('2d').getImageData(c.width - 1, 0, 1, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n > 0 && n < 20; })()")
	b.picture("heat-split")
}

func (b *tab) requests() {
	b.open("#/requests?ns=test.orders")
	b.has("the dearest shape", "{customer: ?, total: {$gte: ?}}")
	b.has("the fan-out", "fan-out")
	b.has("who sends most of it", "mongo-go-driver")
	b.click("text=find {total: ?}")
	b.has("what would help", "the filter does not specify the shard key field customer")
	b.click("[data-explain]")
	b.check("the bill", "parseFloat(document.querySelector('[data-bill]').innerText) > 1")
	b.has("item by item", "partitionVisit")
	b.has("the plan", "SHARD_MERGE")
	b.picture("requests")
	b.click("text=Create index {total: 1}")
	b.check("an index is offered", "document.querySelector('dialog[open]').innerText.includes('An index {total: 1}')")
	b.cancel()
}

func (b *tab) collections() {
	b.open("#/collections")
	b.has("the catalogue", `{customer: "hashed"}`)
	b.click("text=test.orders")
	b.check("its documents", "document.querySelectorAll('.documents li').length === 20")
	b.fill(".filter input", "{total: {$gte: 50}}")
	b.check("what it will cost is said before", "parseFloat(document.querySelector('[data-before]').innerText.replace('at least ', '')) > 1")
	b.click("text=Find")
	b.check("and what it has cost", "parseFloat(document.querySelector('[data-charge]').innerText) > 1")
	b.check("the filter holds", "[...document.querySelectorAll('.doc')].every((d) => /total: ([5-9]\\d|100)/.test(d.innerText))")
	b.picture("collections")
	b.click("text=Next")
	b.has("the next page", "21–")
	b.fill(".filter input", "{total: ")
	b.click("text=Find")
	b.check("a mistake is told", "document.querySelector('.problem').innerText.includes('filter')")
	b.click("text=Insert…")
	b.fill("dialog textarea", `{_id: 5000, customer: "new", total: 1}`)
	b.confirm()
	b.fill(".filter input", "{_id: 5000}")
	b.click("text=Find")
	b.check("the document is there", "document.querySelectorAll('.documents li').length === 1")
	b.click("text=Delete…")
	b.confirm()
	b.has("and gone", "no documents found")
	b.click("#tab-indexes")
	b.has("indexes", "total_1")
	b.picture("indexes")
}

func (b *tab) operations() {
	b.open("#/operations")
	b.has("nobody is disturbed", "No commands are running")
	b.click("input[type=checkbox]")
	b.has("the console sees itself", "cantle console")
	b.picture("operations")
	b.click("text=Kill…")
	b.check("ending one is asked about", "document.querySelector('dialog[open]').innerText.includes('ends with Interrupted')")
	b.cancel()
}

func (b *tab) whatIf() {
	b.open("#/whatif?ns=test.orders")
	b.check("what would be refused", "document.querySelector('[data-refused]').innerText.includes('%')")
	b.do(slide("[data-ru]", "2"))
	b.check("less is not enough", "parseFloat(document.querySelector('[data-refused]').innerText) > 0")
	b.picture("whatif")
	b.do(slide("[data-ru]", "5"))
	b.check("more is", "document.querySelector('[data-refused]').innerText === '0 %'")
	b.click("text=Another shard key")
	b.fill("[data-key]", "total")
	b.click("[data-replay]")
	b.check("the key stands in the address", "location.hash.includes('x=key')")
	b.check("another key is compared", "document.querySelectorAll('.versus [data-refused]').length === 2 && document.querySelector('[data-verdict]').innerText.includes('{total: \"hashed\"}')")
	b.has("what it would cost", "times as much, because they would visit more partitions")
	b.has("how that is known", "statements in this time range and recorded")
	b.has("and what is not", "do not specify the key")
	b.picture("whatif-key")
	b.click("text=customer")
	b.check("a field that requests fix is one click", "document.querySelector('[data-verdict]').innerText.includes('customer: \"hashed\"')")
	b.has("the value with most work", `{customer: "c7"}`)
	b.check("the key there is does as it did", "/A hot partition.*Requests would cost the same/s.test(document.querySelector('[data-verdict]').innerText)")
	b.click("[data-advise]")
	b.check("shard keys are ranked", "document.querySelector('pre.text').innerText.includes('customer *')")
	b.click("text=A new workload")
	b.click("[data-estimate]")
	b.check("a workload is priced", "document.querySelector('pre.text').innerText.includes('offerThroughput')")
	b.picture("estimate")
}

func (b *tab) server() {
	b.open("#/server")
	b.check("memory by owner", "/Queries/.test(document.querySelector('section[aria-label=Memory] table').innerText)")
	b.check("connections by application", "/mongo-go-driver/.test(document.querySelector('section[aria-label=Connections] table').innerText)")
	b.has("cursors and transactions", "transactions committed")
	b.has("backups", "This server makes no backups.")
	b.has("jobs", "No index build, split, merge or other job is running.")
	b.check("the end of the log", "document.querySelectorAll('pre.log div').length > 1 && /INFO/.test(document.querySelector('pre.log').innerText)")
	b.check("three charts", "document.querySelectorAll('.charts canvas').length === 3")
	if shot := b.picture("server"); *shown {
		if err := os.WriteFile(filepath.Join(docsDir, "server.png"), shot, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *tab) frame() {
	b.open("#/now")
	b.do(chromedp.KeyEvent(kb.Tab))
	b.check("the first stop of the keyboard skips what stands on every page", "document.activeElement.classList.contains('skip')")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.check("and leads to the content", "document.activeElement.id === 'main'")
	b.do(chordT())
	b.check("a key changes the colours", "['dark', 'light'].includes(document.documentElement.dataset.theme)")
	b.check("another goes to a view", fmt.Sprintf("(() => { document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '%d', bubbles: true})); return location.hash.startsWith('#/requests'); })()", 4))
	b.open("#/heat?ns=test.orders")
	b.check("the heat map has them too", "document.querySelector('.pattern') && document.querySelector('.heat-box canvas').width > 500")
	b.picture("heat-other")
	b.s.get("/some/where").want(200, "<html")
	b.check("scripts are small", `(() => { const all = performance.getEntriesByType('resource').filter((r) => r.name.endsWith('.js')); return all.length > 5 && all.reduce((a, r) => a + r.encodedBodySize, 0) < 88 * 1024; })()`)
}
