package console

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDocs checks that the documentation is served below the console, without a login, and that its search finds a
// page in a browser under the console's policy.
func TestDocs(t *testing.T) {
	s := start(t, "--auth")
	s.get("/docs").want(301, "/docs/")
	s.get("/docs/").want(200, "<title>Documentation", `href="../"`)
	s.get("/docs/console.html").want(200, `src="console/heat.png"`)
	if a := s.get("/docs/console/heat.png"); a.status != 200 || a.header.Get("Content-Type") != "image/png" {
		t.Errorf("status %d, %s", a.status, a.header.Get("Content-Type"))
	}
	s.get("/docs/scale-out/compose.yaml").want(200, "services:")
	s.get("/docs/nothing.html").want(404)
	s.get("/api/v1/server").want(200, `"docs":true`)
	b := browse(t, s, 1440, 900)
	b.do(chromedp.Navigate(s.url + "/docs/start.html"))
	b.check("the style is applied", "getComputedStyle(document.querySelector('.frame')).display === 'grid'")
	b.picture("docs-start")
	b.do(chromedp.Evaluate("document.getElementById('search').focus()", nil))
	b.fill("#search", "hot dates")
	b.check("the search finds a section", "document.querySelector('#results a').textContent.includes('Hot dates')")
	b.picture("docs-search")
	b.check("the result leads to the section", "document.querySelector('#results a').getAttribute('href').startsWith('partition-recipes.html#hot-dates')")
	b.do(chromedp.Navigate(ask[string](b, "document.querySelector('#results a').href")))
	b.check("the section is there", "document.querySelector(location.hash).tagName === 'H2'")
}
