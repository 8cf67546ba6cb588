package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ARCHITECTURE.md has the table of levels that is enforced.
func TestLevelsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for level, row := range levels {
		want := fmt.Sprintf("\n| %d | `%s` |\n", level, strings.Join(row, "`, `"))
		if !strings.Contains(string(text), want) {
			t.Errorf("ARCHITECTURE.md has no line%s", want)
		}
		for _, dir := range row {
			if _, err := os.Stat("../../" + dir); err != nil {
				t.Errorf("level %d names %s, which does not exist", level, dir)
			}
		}
	}
	if strings.Contains(string(text), fmt.Sprintf("\n| %d |", len(levels))) {
		t.Error("ARCHITECTURE.md has more levels than scripts/tidy/levels_test.go")
	}
}

// Every link of a document to a file of the repository is valid, and so is every path in code quotes that looks
// like one.
func TestDocumentLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	quoted := regexp.MustCompile("`\\.?/?((?:bson|cmd|collection|compat-tests|internal|packaging|ratelimit|scripts|serve|shard|storage|wire)/[a-z_0-9/.-]*[a-z])`")
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		pages[i] = "docs/" + filepath.Base(pages[i])
	}
	for _, name := range append([]string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"}, pages...) {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Error(err)
			continue
		}
		for from, pattern := range map[string]*regexp.Regexp{filepath.Dir(name): link, ".": quoted} {
			for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
				if _, err := os.Stat(filepath.Join("../..", from, m[1])); err != nil {
					t.Errorf("%s names %s, which does not exist", name, m[1])
				}
			}
		}
	}
}
