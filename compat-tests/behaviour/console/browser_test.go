package console

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cantledb/cantle/compat-tests/rig/browser"
)

// picturesDir is the folder for screenshots of the console, for visual checks; docs/console.md shows some.
const picturesDir = "../../../.cache/console"

// tab is a page of the console in a headless browser. An error of JavaScript, a warning in the browser's log, a
// request to another host or a refused load fails the test.
type tab struct {
	t   *testing.T
	s   *server
	ctx context.Context

	mu      sync.Mutex
	trouble []string
	checks  int
}

// browse opens the console in a headless browser, in a window of the given size. If there is no browser, it skips the
// test.
func browse(t *testing.T, s *server, width, height int64) *tab {
	t.Helper()
	path := browser.Path("../../..")
	if path == "" {
		t.Skip(browser.Missing)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true),
		// These flags make pictures the same in every run: elements that are drawn in parts have other edges than
		// those drawn at once.
		chromedp.Flag("disable-partial-raster", true), chromedp.Flag("num-raster-threads", "1"), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("disable-lcd-text", true),
		chromedp.Flag("ignore-certificate-errors", strings.HasPrefix(s.url, "https:")))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 15*time.Minute)
	t.Cleanup(cancel)
	b := &tab{t: t, s: s, ctx: ctx}
	chromedp.ListenTarget(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.note("an error of JavaScript: " + e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				b.note(fmt.Sprintf("console: %s", e.Args[0].Value))
			}
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, s.url) && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") {
				b.note("a request to " + u)
			}
		case *network.EventLoadingFailed:
			if e.BlockedReason != "" {
				b.note("blocked: " + e.BlockedReason.String())
			}
		}
	})
	b.do(network.Enable(), runtime.Enable(), emulation.SetDeviceMetricsOverride(width, height, 1, false))
	if s.stopped {
		b.still()
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, x := range b.trouble {
			t.Error(x)
		}
		t.Logf("%d checks", b.checks)
	})
	return b
}

func (b *tab) note(what string) {
	b.mu.Lock()
	b.trouble = append(b.trouble, what)
	b.mu.Unlock()
}

// do runs actions that must succeed.
func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open navigates to a view.
func (b *tab) open(hash string) {
	b.t.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(b.s.url+"/"+hash), chromedp.WaitVisible("nav, form", chromedp.ByQuery))
}

// Evaluates an expression and returns its value.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	var v T
	b.do(chromedp.Evaluate(expression, &v))
	return v
}

// check waits until an expression of JavaScript is true.
func (b *tab) check(what, expression string) {
	b.t.Helper()
	b.checks++
	ok := false
	err := chromedp.Run(b.ctx, chromedp.Poll("(() => { try { return !!("+expression+") } catch { return false } })()", &ok, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	if err != nil || !ok {
		b.picture("failed-" + strings.Map(func(r rune) rune {
			if r == ' ' || r == '/' {
				return '-'
			}
			return r
		}, what))
		b.t.Errorf("%s: %s is not so (%v); the page has: %.600s", what, expression, err, ask[string](b, "document.querySelector('main')?.innerText ?? document.body.innerText"))
	}
}

// has waits until the content has a text.
func (b *tab) has(what, text string) {
	b.t.Helper()
	b.check(what, fmt.Sprintf("document.querySelector('main').innerText.includes(%q)", text))
}

// click clicks the first element that a CSS selector matches or, for text=…, the button, link or summary that begins
// with that text. It clicks the element itself and not a position, which redrawing may change.
func (b *tab) click(selector string) {
	b.t.Helper()
	find := fmt.Sprintf("document.querySelector(%q)", selector)
	if text, ok := strings.CutPrefix(selector, "text="); ok {
		find = fmt.Sprintf("[...document.querySelectorAll('button, a, summary')].find((x) => x.textContent.trim().startsWith(%q))", text)
	}
	b.check("there is "+selector, find)
	b.do(chromedp.Evaluate(find+".click()", nil))
}

// fill types into an input.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); const p = e.tagName === 'TEXTAREA' ? HTMLTextAreaElement : HTMLInputElement;
		Object.getOwnPropertyDescriptor(p.prototype, 'value').set.call(e, %q); e.dispatchEvent(new Event('input', {bubbles: true})); })()`, selector, text), nil))
}

// picture takes a screenshot, after pending drawing has been shown.
func (b *tab) picture(name string) []byte {
	b.t.Helper()
	var shot []byte
	b.do(chromedp.Evaluate("new Promise((done) => document.fonts.ready.then(() => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))))", nil, awaited), chromedp.CaptureScreenshot(&shot))
	if _, err := png.Decode(bytes.NewReader(shot)); err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(picturesDir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(picturesDir, name+".png"), shot, 0o644); err != nil {
		b.t.Fatal(err)
	}
	return shot
}

// burst sends requests for the given number of seconds: one customer of test.orders keeps a partition busy, while the
// others do little.
func (s *server) burst(seconds int) {
	s.t.Helper()
	for i := range seconds {
		n := 3
		if i > seconds/3 {
			n = 12
		}
		for j := range n {
			s.run("test", `{"find": "orders", "filter": {"customer": "c7", "total": {"$gte": %d}}}`, j)
		}
		s.run("test", `{"find": "orders", "filter": {"customer": "c%d"}}`, i%50)
		if i%5 == 0 {
			s.run("test", `{"find": "orders", "filter": {"total": %d}}`, i%100)
			s.run("test", `{"update": "orders", "updates": [{"q": {"_id": %d, "customer": "c%d"}, "u": {"$inc": {"total": 1}}}]}`, i%50, i%50)
		}
		s.pass(1)
	}
}

// cancel and confirm close the open dialog.
func (b *tab) cancel() {
	b.t.Helper()
	b.click("text=Cancel")
	b.check("the dialog closes", "!document.querySelector('dialog')")
}

func (b *tab) confirm() {
	b.t.Helper()
	b.click("[data-confirm]")
	b.check("it is done", "!document.querySelector('dialog')")
}
