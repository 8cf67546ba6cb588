package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is the maximum time for which a browser waits for an element or a condition. A busy machine is no failure.
const patience = time.Minute

// present returns a browser action that waits until the page has an element.
func present(selector string) chromedp.Action {
	return chromedp.Poll(fmt.Sprintf("!!document.querySelector(%q)", selector), nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience))
}

// mouse returns a browser action that moves or presses the mouse in an element, at a position in fractions of its
// size.
func mouse(kind, selector string, x, y float64) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		if err := present(selector).Do(ctx); err != nil {
			return err
		}
		var at []float64
		find := fmt.Sprintf("(() => { const e = document.querySelector(%q); e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); return [r.left + r.width * %g, r.top + r.height * %g]; })()", selector, x, y)
		if err := chromedp.Evaluate(find, &at).Do(ctx); err != nil {
			return err
		}
		e := input.DispatchMouseEvent(input.MouseType(kind), at[0], at[1])
		if kind != "mouseMoved" {
			e = e.WithButton(input.Left).WithClickCount(1)
		}
		return e.Do(ctx)
	})
}

// keys returns a browser action that presses keys while an element has the focus. The prefix shift+ means that the
// shift key is pressed.
func keys(selector string, names ...string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		if err := present(selector).Do(ctx); err != nil {
			return err
		}
		for _, n := range names {
			n, shift := strings.CutPrefix(n, "shift+")
			press := fmt.Sprintf("(() => { const e = document.querySelector(%q); e.focus(); e.dispatchEvent(new KeyboardEvent('keydown', {key: %q, shiftKey: %t, bubbles: true, cancelable: true})); })()", selector, n, shift)
			if err := chromedp.Evaluate(press, nil).Do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// slide moves a slider.
func slide(selector, value string) chromedp.Action {
	return append(chromedp.Tasks{present(selector)}, chromedp.Evaluate(fmt.Sprintf("(() => { const e = document.querySelector(%q); Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(e, %q); e.dispatchEvent(new Event('input', {bubbles: true})); })()", selector, value), nil))
}

// chordT presses t, which changes the colours.
func chordT() chromedp.Action {
	return chromedp.Evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 't', bubbles: true}))", nil)
}

// awaited makes an evaluation wait for the expression's promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
