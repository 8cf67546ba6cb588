package console

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// What a viewer waits for, and whether brushing is smooth: measured and told (-v), not asserted,
// for it depends on the machine. The heat map is the largest there is: 512 partitions over
// seven days.
func TestMeasured(t *testing.T) {
	s := start(t)
	s.stop()
	s.run("admin", `{"shardCollection": "test.wide", "key": {"k": "hashed"}, "numInitialChunks": 512}`)
	s.run("test", `{"insert": "wide", "documents": [{"_id": 1, "k": 1}]}`)
	for range 60 {
		s.run("test", `{"find": "wide", "filter": {"x": 1}}`)
		s.pass(7 * 86400 / 61)
	}
	b := browse(t, s, 1600, 1000)
	for _, hash := range []string{"#/now", "#/heat?ns=test.wide&range=604800"} {
		b.open(hash)
		b.check("there is something to see", "document.querySelector('main canvas')")
		paint := ask[float64](b, "performance.getEntriesByName('first-contentful-paint')[0].startTime")
		t.Logf("%s: first paint after %.0f ms", hash, paint)
	}
	var box []float64
	b.do(chromedp.Evaluate("(() => { const r = document.querySelector('.heat-box canvas:last-child').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()", &box))
	at := func(x float64) (float64, float64) { return box[0] + box[2]*x, box[1] + box[3]/2 }
	x, y := at(0.1)
	b.do(chromedp.Evaluate("window.frames_ = []; (function f(t) { window.frames_.push(t); if (!window.ended_) requestAnimationFrame(f); })(performance.now()); 0", nil),
		input.DispatchMouseEvent(input.MousePressed, x, y).WithButton(input.Left).WithClickCount(1))
	for i := range 240 {
		x, y := at(0.1 + 0.8*float64(i)/240)
		b.do(input.DispatchMouseEvent(input.MouseMoved, x, y).WithButton(input.Left))
	}
	told := ask[string](b, `(() => { window.ended_ = true; const f = window.frames_, d = f.slice(1).map((t, i) => t - f[i]).sort((a, b) => a - b);
		const at = (p) => d[Math.floor(p * (d.length - 1))].toFixed(1);
		return d.length + ' frames, half within ' + at(0.5) + ' ms, 95 of 100 within ' + at(0.95) + ' ms, ' + (1000 * d.length / (f.at(-1) - f[0])).toFixed(0) + ' a second'; })()`)
	rows := ask[string](b, "document.querySelector('.heat-box canvas:last-child').getAttribute('aria-label').slice(0, 60)")
	x, y = at(0.9)
	b.do(input.DispatchMouseEvent(input.MouseReleased, x, y).WithButton(input.Left).WithClickCount(1))
	b.check("a time is selected", "location.hash.includes('brush=')")
	b.picture("wide")
	t.Logf("brushing: %s (%s…)", told, rows)
}
