package pages

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// pagesAtOnce is the number of pages that run at the same time. They wait for shells and servers most of the time.
const pagesAtOnce = "5"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", pagesAtOnce); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestPages checks that every block of the README and of the pages in docs, except those with skip, can be run and
// prints the output that the page shows.
func TestPages(t *testing.T) {
	testenv.SkipWithURI(t)
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range allPages(t, root) {
		t.Run(strings.TrimSuffix(path.Base(p.name), ".md"), func(t *testing.T) {
			t.Parallel()
			follow(t, p)
		})
	}
}

// allPages parses the README and the pages of docs. A page that cannot be parsed fails the test, and is left out.
func allPages(t *testing.T, root string) (out []*page) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append([]string{filepath.Join(root, "README.md")}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, file)
		p, err := parse(filepath.ToSlash(name), string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		out = append(out, p)
	}
	return out
}

// follow runs the blocks of a page in their order. After a block that fails, no further one is run.
func follow(t *testing.T, p *page) {
	var r *reader
	if slices.ContainsFunc(p.blocks, (*block).runs) {
		r = newReader(t, p)
	} else {
		r = &reader{page: p, ports: map[string]string{}}
	}
	for _, b := range p.blocks {
		if b.language == "text" && !b.output && b.file == "" || r.env == nil && b.skip == "" {
			continue
		}
		r.do(t, b)
		if t.Failed() {
			t.Fatalf("%s:%d: here", p.name, b.line)
		}
	}
	r.rewrite(t)
}

// rewrite stores the output of lines in the page.
func (r *reader) rewrite(t *testing.T) {
	if len(r.differences) == 0 {
		return
	}
	file := filepath.Join(r.root, filepath.FromSlash(r.page.name))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for n, printed := range r.differences {
		code, _, _ := strings.Cut(lines[n-1], " // ")
		lines[n-1] = code + " // " + printed
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}
