package console

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// shown is set to write the pictures of docs/console.md.
var shown = flag.Bool("pictures", false, "write the pictures that docs/console.md shows")

// docsDir is the folder of these pictures.
const docsDir = "../../../docs/console"

// noon is the time at which the clocks of the tested servers are stopped, so that pictures show the same times
// whenever they are made. It lies in the future, because clocks cannot go back.
var noon = time.Date(2034, 3, 1, 12, 0, 0, 0, time.UTC)

// still makes a page show the same in every run: its clock stands at noon, in one time zone, animations are off, and two
// numbers are hidden: what operators used, because the requests of the page itself count there, and sizes on disk, which a
// compaction changes.
func (b *tab) still() {
	b.t.Helper()
	b.do(emulation.SetTimezoneOverride("UTC"), reduced("light"),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(fmt.Sprintf(`{
				const Real = Date, now = %d;
				window.Date = class extends Real { constructor(...a) { if (a.length) super(...a); else super(now); } static now() { return now; } };
				addEventListener('DOMContentLoaded', () => { const s = new CSSStyleSheet(); s.replaceSync('* { caret-color: transparent !important } [data-operators], [data-disk] { display: none }'); document.adoptedStyleSheets.push(s); });
			}`, noon.UnixMilli())).Do(ctx)
			return err
		}))
}

// reduced emulates user preferences: a colour scheme, and reduced motion.
func reduced(colours string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}, {Name: "prefers-reduced-motion", Value: "reduce"}})
}

// tour starts a server, takes a picture of each view of the console, and returns the pictures by name.
func tour(t *testing.T) map[string][]byte {
	s := start(t)
	s.stop()
	s.tenants(300, 210)
	b := browse(t, s, 1280, 900)
	pictures := map[string][]byte{}
	take := func(name string) {
		b.check("it is live", "document.querySelector('.live.on')")
		pictures[name] = b.picture(name)
		for range 10 { // the browser may still draw text anew that has moved by a part of a point
			again := b.picture(name)
			if bytes.Equal(again, pictures[name]) {
				break
			}
			pictures[name] = again
		}
	}
	for _, v := range []struct{ name, hash, there string }{
		{"now", "#/now", "document.querySelectorAll('.warnings li').length > 0 && document.querySelector('.live.on')"},
		{"heat", "#/heat?ns=shop.orders", "document.querySelector('.pattern code') && document.querySelectorAll('tbody code').length > 3"},
		{"partitions", "#/partitions?ns=shop.orders", "parseInt(document.querySelector('tbody .bar.hot')?.innerText) > 50"},
		{"requests", "#/requests?ns=shop.orders", "document.querySelectorAll('tbody tr').length > 2"},
		{"collections", "#/collections?ns=shop.orders", "document.querySelectorAll('.documents li').length === 20 && document.querySelector('[data-before]')"},
		{"documents", "#/collections?ns=shop.orders", "(() => { document.querySelector('table.grid') ?? [...document.querySelectorAll('button')].find((x) => x.textContent === 'Table').click(); return document.querySelectorAll('table.grid tbody tr').length === 20 && document.querySelector('[data-before]'); })()"},
		{"operations", "#/operations", "document.querySelectorAll('main h2').length > 2"},
		{"whatif", "#/whatif?ns=shop.orders", "document.querySelector('[data-refused]') && document.querySelector('.chart canvas')"},
		{"whatif-key", "#/whatif?ns=shop.orders&x=key:order", "document.querySelector('[data-verdict]') && document.querySelector('.chart canvas')"},
	} {
		for _, colours := range []string{"light", "dark"} {
			b.do(reduced(colours))
			b.open(v.hash)
			b.check(v.name+" is there", v.there)
			if colours == "dark" {
				take(v.name + "-dark")
			} else {
				take(v.name)
			}
		}
	}
	return pictures
}

// TestPictures checks that two runs of tour, with a stopped clock, make the same pictures, byte for byte.
func TestPictures(t *testing.T) {
	first, second := tour(t), tour(t)
	if len(first) != 18 {
		t.Errorf("%d pictures", len(first))
	}
	for name, a := range first {
		if b := second[name]; !bytes.Equal(a, b) {
			t.Errorf("%s.png differs: %s", name, difference(t, name, a, b))
		}
		keep(t, name, a)
	}
}

// keep writes a picture that docs/console.md shows, with -pictures.
func keep(t *testing.T, name string, picture []byte) {
	t.Helper()
	file := filepath.Join(docsDir, name+".png")
	if _, err := os.Stat(file); err != nil || !*shown {
		return // not shown in the page
	}
	writeSmall(t, file, picture)
}

// difference returns a description of how two pictures of a view differ, and stores the second one for inspection.
func difference(t *testing.T, name string, a, b []byte) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(picturesDir, name+"-other.png"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		return err.Error()
	}
	y, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return err.Error()
	}
	var r image.Rectangle
	n := 0
	for py := range x.Bounds().Dy() {
		for px := range x.Bounds().Dx() {
			if x.At(px, py) != y.At(px, py) {
				n++
				r = r.Union(image.Rect(px, py, px+1, py+1))
			}
		}
	}
	return fmt.Sprintf("%d points within %v; the other is %s-other.png", n, r, name)
}
