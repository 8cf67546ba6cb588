package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// In the four large pages at the root and in those of docs, every link to a file of the repository is valid, and so
// is every text in code quotes that begins with a folder of the repository and looks like a path.
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
