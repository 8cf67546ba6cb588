package console

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axeVersion is the version of axe-core, a checker of accessibility, which npm installs for this test alone.
const axeVersion = "4.14.1"

// axe returns the JavaScript source of axe-core, which it installs on first use.
func axe(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../../.cache/axe-" + axeVersion)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(file); err != nil {
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("axe-core is installed by npm, which there is not: install Node 20 or newer")
		}
		if out, err := exec.Command("npm", "install", "--prefix", dir, "--no-package-lock", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--loglevel=error", "axe-core@"+axeVersion).CombinedOutput(); err != nil {
			t.Skipf("axe-core cannot be installed: %v: %s", err, out)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// finding is a violation that axe-core reports.
type finding struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// TestAccess checks that axe-core finds no serious or critical violation in any view of the console, in both colour
// schemes, and that each view fits the width of a phone and fills that of a wall.
func TestAccess(t *testing.T) {
	library := axe(t)
	s := start(t, "--console-write")
	s.stop()
	s.orders()
	s.pass(1)
	s.burst(20)
	b := browse(t, s, 1400, 1000)
	for _, view := range []string{"now", "heat", "partitions", "requests", "collections", "collections?ns=test.orders", "operations", "server", "whatif", "whatif?x=key:total&ns=test.orders", "bill", "bill?x=value,"} {
		hash := "#/" + view
		name := strings.NewReplacer("?ns=test.orders", "-one", "?x=key:total&ns=test.orders", "-key", "?x=value,", "-value").Replace(view)
		if !strings.Contains(view, "?") && view != "now" && view != "collections" && view != "operations" && view != "server" && view != "bill" {
			hash += "?ns=test.orders"
		}
		for _, colours := range []string{"light", "dark"} {
			b.do(emulation.SetDeviceMetricsOverride(1400, 1000, 1, false))
			b.do(reduced(colours))
			b.open(hash)
			b.check(view+" is there", "document.querySelector('main h1, main h2, main table, main form, main .chart, main .tabs')")
			var found string
			b.do(chromedp.Evaluate(library+";0", nil), chromedp.Evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}).then((r) => JSON.stringify(r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')))", &found, chromedp.EvalAsValue, awaited))
			var list []finding
			if err := json.Unmarshal([]byte(found), &list); err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				t.Errorf("%s, %s: %s (%s): %s\n%s", view, colours, f.Help, f.Impact, f.Nodes[0].HTML, f.Nodes[0].FailureSummary)
			}
		}
		b.do(emulation.SetDeviceMetricsOverride(320, 700, 1, true))
		b.check(view+" fits on a telephone", "document.documentElement.scrollWidth <= 321")
		b.picture("phone-" + name)
		b.do(emulation.SetDeviceMetricsOverride(3840, 2160, 1, false))
		b.check(view+" fills a wall", "document.documentElement.scrollWidth <= 3840 && document.querySelector('main').clientWidth > 3000")
		b.picture("wall-" + name)
	}
}
