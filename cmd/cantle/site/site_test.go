package site

import (
	"encoding/json"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

var (
	targets = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	ids     = regexp.MustCompile(` id="([^"]+)"`)
)

// Each link of each page leads to a file of the site and a heading in it, or to a file of the repository, and no page
// loads from another host or needs an inline script or style, which the console's policy forbids.
func TestLinks(t *testing.T) {
	files, err := Render(Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for name, text := range files {
		for _, m := range ids.FindAllSubmatch(text, -1) {
			anchors[name+"#"+string(m[1])] = true
		}
	}
	links := 0
	for name, text := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range targets.FindAllStringSubmatch(string(text), -1) {
			links++
			checkLink(t, files, anchors, name, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
		for _, forbidden := range []string{" style=", " onclick=", "<style", "<script>"} {
			if strings.Contains(string(text), forbidden) {
				t.Errorf("%s contains %s", name, forbidden)
			}
		}
		if !strings.Contains(string(text), "1.2.3") {
			t.Errorf("%s does not name the version", name)
		}
	}
	if links < 500 {
		t.Errorf("only %d links were found", links)
	}
}

// checkLink checks one link of a page.
func checkLink(t *testing.T, files map[string][]byte, anchors map[string]bool, page, to string) {
	t.Helper()
	if file, ok := strings.CutPrefix(to, inRepository("")); ok {
		file, _, _ = strings.Cut(file, "#")
		if _, err := os.Stat("../../../" + file); err != nil {
			t.Errorf("%s: %v", page, err)
		}
		return
	}
	if strings.Contains(to, "://") {
		if !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "http://127.0.0.1") && !strings.HasPrefix(to, "http://localhost") {
			t.Errorf("%s links to %s", page, to)
		}
		return
	}
	file, anchor, anchored := strings.Cut(to, "#")
	if file == "" {
		file = page
	}
	if files[file] == nil {
		t.Errorf("%s links to %s, which is no file", page, to)
	} else if anchored && !anchors[file+"#"+anchor] {
		t.Errorf("%s links to %s, where no heading has this name", page, to)
	}
}

// The first result of a reader's question is the page that answers it.
func TestSearch(t *testing.T) {
	files, err := Render(Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	vm := goja.New()
	if _, err := vm.RunString("var window = {};" + string(files["search-index.js"]) + string(files["search.js"]) + "const ready = prepare(window.cantleSections)"); err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"":                          "",
		"xyzzyplugh":                "",
		"too many requests":         "troubleshooting.html",
		"migrate from MongoDB":      "moving.html",
		"heat map":                  "console.html",
		"replace my emulator":       "emulator.html",
		"emulator":                  "emulator.html",
		"what differs from MongoDB": "differences.html",
		"restore to a moment":       "backup.html",
		"hot dates":                 "partition-recipes.html#hot-dates-all-writes-go-to-today",
		"jest":                      "test-suites.html#jest-and-vitest",
		"privilege of dropDatabase": "privileges.html",
	} {
		asked, _ := json.Marshal(question)
		v, err := vm.RunString("search(ready, " + string(asked) + ", 5).map(s => s.i ? s.p + '#' + s.i : s.p).join(' ')")
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(v.String(), " ")
		if first != want && !(want != "" && strings.HasPrefix(first, want+"#")) {
			t.Errorf("%q finds %q, want %s first", question, v, want)
		}
	}
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Hot dates: all writes go to today": "hot-dates-all-writes-go-to-today",
		"The `$lookup` stage, C# and .NET":  "the-lookup-stage-c-and-net",
		"What  is_not":                      "what--is_not",
	} {
		if got := slug(title); got != want {
			t.Errorf("%q is %q, want %q", title, got, want)
		}
	}
}
