package tidy

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
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

// Each message in the tables of docs/troubleshooting.md is a text of the product, with … for what is printed into it.
// Messages of drivers, which a word in parentheses follows, are not compared.
func TestMessages(t *testing.T) {
	r, err := wholeRepo()
	if err != nil {
		t.Fatal(err)
	}
	var texts strings.Builder
	for _, f := range r.files {
		if f.test || isRig(f.dir) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					texts.WriteString(s + "\x00")
				}
			}
			return true
		})
	}
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (?:[0-9, ]+\\| )?`([^`]+)` \\|")
	found := row.FindAllStringSubmatch(string(page), -1)
	if len(found) < 20 {
		t.Fatalf("only %d messages were found", len(found))
	}
	for _, m := range found {
		for part := range strings.SplitSeq(m[1], "…") {
			if part = strings.TrimSpace(part); len(part) > 3 && !strings.Contains(texts.String(), part) {
				t.Errorf("docs/troubleshooting.md: no text of the product contains %q", part)
			}
		}
	}
}
