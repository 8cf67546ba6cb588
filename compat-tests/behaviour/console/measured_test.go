package console

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// loads is the number of repetitions of each measurement (loading, brushing), in alternation. The best one is the
// time of the page itself; the others include other work of the machine.
const loads = 5

// TestMeasured measures how long a user of the console waits for the page, and how smoothly a part of the heat map
// can be selected with the mouse (brushing). The results are logged (-v) and not asserted, because they depend on the
// machine. The heat map is the largest possible one: 512 partitions over seven days.
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
	b.do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks)) // processor time, not wall time
	for range loads {
		for _, hash := range []string{"#/now", "#/heat?ns=test.wide&range=604800"} {
			b.open(hash)
			b.check("there is something to see", "document.querySelector('main canvas')")
			t.Logf("%s: %s", hash, ask[string](b, `(() => {
				const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime, heat = performance.getEntriesByName('heat')[0];
				return 'first paint after ' + paint.toFixed(0) + ' ms' + (heat ? ', the heat map after ' + heat.startTime.toFixed(0) : ''); })()`))
		}
		t.Logf("brushing: %s", b.brush())
	}
	t.Logf("%.60s…", ask[string](b, "document.querySelector('.heat-box canvas:last-child').getAttribute('aria-label')"))
	b.picture("wide")
}

// brush drags the mouse through the heat map, and returns a description of how smooth that was.
func (b *tab) brush() string {
	b.t.Helper()
	var box []float64
	b.do(chromedp.Evaluate("(() => { const r = document.querySelector('.heat-box canvas:last-child').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()", &box))
	at := func(x float64) (float64, float64) { return box[0] + box[2]*x, box[1] + box[3]/2 }
	x, y := at(0.1)
	b.do(chromedp.Evaluate("window.frames_ = []; window.ended_ = false; (function f(t) { window.frames_.push(t); if (!window.ended_) requestAnimationFrame(f); })(performance.now()); 0", nil),
		input.DispatchMouseEvent(input.MousePressed, x, y).WithButton(input.Left).WithClickCount(1))
	before := b.spent()
	for i := range 240 {
		x, y := at(0.1 + 0.8*float64(i)/240)
		b.do(input.DispatchMouseEvent(input.MouseMoved, x, y).WithButton(input.Left))
	}
	after := b.spent()
	told := ask[string](b, `(() => { window.ended_ = true; const f = window.frames_, d = f.slice(1).map((t, i) => t - f[i]).sort((a, b) => a - b);
		const at = (p) => d[Math.floor(p * (d.length - 1))].toFixed(1);
		return d.length + ' frames, half within ' + at(0.5) + ' ms, 95 of 100 within ' + at(0.95) + ', ' + d.reduce((n, x) => n + Math.max(0, Math.round(x / (1000 / 60)) - 1), 0) + ' dropped, ' + (1000 * d.length / (f.at(-1) - f[0])).toFixed(0) + ' a second'; })()`)
	x, y = at(0.9)
	b.do(input.DispatchMouseEvent(input.MouseReleased, x, y).WithButton(input.Left).WithClickCount(1))
	b.check("a time is selected", "location.hash.includes('brush=')")
	each := func(name string) float64 { return 1000 * (after[name] - before[name]) / 240 }
	return fmt.Sprintf("%s; of each move %.2f ms of the page's thread, scripts %.2f, style and layout %.2f", told, each("TaskDuration"), each("ScriptDuration"), each("LayoutDuration")+each("RecalcStyleDuration"))
}

// spent returns the browser's metrics of the page by name, among them the seconds of its main thread for each kind of
// work.
func (b *tab) spent() map[string]float64 {
	b.t.Helper()
	out := map[string]float64{}
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		list, err := performance.GetMetrics().Do(ctx)
		for _, m := range list {
			out[m.Name] = m.Value
		}
		return err
	}))
	return out
}
