package tools

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/browser"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// tourMinutesMax bounds the duration of one tour of the pages.
const tourMinutesMax = 5

// steps are the steps of a tour through mongo-express. For each, the tour prints one line: `way step ok` or `way step
// FAIL reason`.
var steps = []string{"status", "databases", "collections", "documents", "editing", "search", "indexes", "export", "upkeep"}

var express = harness.Program{
	Folder: "mongoexpress", Needs: []string{"node", "npm"},
	Fetch: []string{"npm install --no-package-lock --no-audit --no-fund --loglevel=error"},
}

func TestMongoExpress(t *testing.T) {
	testenv.SkipWithURI(t)
	if name := express.Missing(); name != "" {
		t.Fatalf("%s is not installed; the tests need it", name)
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".cache", "tools", express.Folder)
	if err := express.Ready(t.Context(), dir); errors.Is(err, harness.ErrFetch) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, variant := range []string{"mongodb", "cosmos", "secure"} {
		t.Run(variant, func(t *testing.T) {
			t.Run("pages", func(t *testing.T) { tour(t, dir, variant, "pages", "") })
			if variant == "cosmos" {
				return // the pages do not differ
			}
			t.Run("browser", func(t *testing.T) {
				chromium := browser.Path("../../..")
				if chromium == "" {
					t.Skip(browser.Missing)
				}
				tour(t, dir, variant, "browser", chromium)
			})
		})
	}
}

// tour creates a subtest for every step.
func tour(t *testing.T, dir, variant, way, chromium string) {
	uri, authority := "", ""
	switch variant {
	case "secure":
		uri, authority = harness.StartSecure(t)
	case "cosmos":
		uri = harness.Start(t, harness.Options{Args: []string{"--cosmos-listen", "127.0.0.1:0", "--cosmos-lenient"}}).CosmosURI
	default:
		uri = harness.Start(t, harness.Options{}).URI
	}
	ctx, cancel := context.WithTimeout(t.Context(), tourMinutesMax*time.Minute)
	defer cancel()
	out, err := harness.Shell(ctx, dir, "node --test-reporter=spec tour.test.mjs",
		[]string{"CANTLE_URI=" + uri, "CANTLE_CA_FILE=" + authority, "CANTLE_CHROMIUM=" + chromium})
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			switch result, reason := reported(out, way+" "+step+" "); result {
			case "ok":
			case "":
				t.Errorf("not reported; the program ended with %v", err)
			default:
				t.Error(strings.ReplaceAll(reason, " | ", "\n"))
			}
		})
	}
	if err != nil && !t.Failed() {
		t.Errorf("the program reports no failure and ended with %v", err)
	}
	if t.Failed() {
		t.Logf("the program printed\n%s", out)
	}
}

// reported returns the result of a step: the first word, and the rest, of the line in out that begins with prefix.
func reported(out, prefix string) (result, reason string) {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			result, reason, _ = strings.Cut(strings.TrimSpace(rest), " ")
			return result, reason
		}
	}
	return "", ""
}
