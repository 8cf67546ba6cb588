package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Several versions are built beside each other, each states its own, and all are listed, with the newest release as
// the one that the first page leads to.
func TestVersions(t *testing.T) {
	out := t.TempDir()
	for _, v := range []string{"0.2.0", "0.10.0", "0.11.0-dev", "0.10.0-rc.1"} {
		if n, err := build(out, v); err != nil || n < 30 {
			t.Fatalf("%d files, %v", n, err)
		}
	}
	for name, want := range map[string]string{
		"versions.js":        `["0.11.0-dev","0.10.0","0.10.0-rc.1","0.2.0"]`,
		"index.html":         "url=0.10.0/index.html",
		"0.2.0/start.html":   `data-version="0.2.0" data-others="../versions.js"`,
		"0.2.0/search.js":    "function search(",
		"0.2.0/console.html": `src="console/heat.png"`,
	} {
		text, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, no %s in %d bytes", name, err, want, len(text))
		}
	}
	if _, err := build(out, "../elsewhere"); err == nil {
		t.Error("a wrong version is accepted")
	}
}
