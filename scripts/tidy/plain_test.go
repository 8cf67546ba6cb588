package tidy

import (
	"flag"
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// writePlain makes the test store the present counts: go test ./scripts/tidy -run TestPlain -write.
var writePlain = flag.Bool("write", false, "write plain.txt anew")

// plainFile is the file with the counts of sentences that a pattern of plainPatterns matches, a line for each package
// and page that has any. Counts may only fall.
const plainFile = "plain.txt"

// plainPatterns match sentences that describe code in a way that no other project does.
var plainPatterns = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"is-what", regexp.MustCompile(`(?i)\b(is|are|was|were) (what|who|whom|how|when|where|which|why|whether)\b`)},
	{"told", regexp.MustCompile(`(?i)\b(tells?|told|knows?|knew|asks?|asked|says?|said|wants?|wanted|hears?|heard)\b`)},
	{"who", regexp.MustCompile(`(?i)\b(who|whoever|whom|nobody|somebody|anybody|everybody)\b`)},
}

// plainCount holds the number of sentences of a package or page, and for each pattern the number of sentences that it
// matches.
type plainCount struct {
	sentences int
	matched   [3]int
	first     [3]string // the first sentence of each
}

// sentenceEnds matches the ends of sentences: punctuation before white space, a colon at the end of a line, empty
// lines, items of lists.
var sentenceEnds = regexp.MustCompile(`[.!?]["')]*\s+|\n\s*\n|\n\s*[-*|] |:\n`)

// add counts the sentences of a text.
func (c *plainCount) add(where, text string) {
	for _, s := range sentenceEnds.Split(text, -1) {
		s = strings.Join(strings.Fields(s), " ")
		if !strings.Contains(s, " ") {
			continue
		}
		c.sentences++
		for i, p := range plainPatterns {
			if p.pattern.MatchString(s) {
				if c.matched[i]++; c.matched[i] == 1 {
					c.first[i] = where + ": " + s
				}
			}
		}
	}
}

// notProse matches the parts of a page that are not prose: code, and the addresses of links.
var notProse = regexp.MustCompile("(?s)```.*?```|<pre.*?</pre>|`[^`\n]*`|\\]\\([^)]*\\)")

// countPlain counts the sentences of comments and log messages by package, and those of pages.
func countPlain(r *repo) map[string]*plainCount {
	counts := map[string]*plainCount{}
	of := func(name string) *plainCount {
		if counts[name] == nil {
			counts[name] = &plainCount{}
		}
		return counts[name]
	}
	for _, f := range r.files {
		c := of(f.dir)
		for _, g := range f.syntax.Comments {
			c.add(r.position(g.Pos()), g.Text())
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			message, isText := call.Args[0].(*ast.BasicLit)
			if ok && isText && (method.Sel.Name == "Msg" || method.Sel.Name == "Msgf") {
				if text, err := strconv.Unquote(message.Value); err == nil {
					c.add(r.position(message.Pos()), text)
				}
			}
			return true
		})
	}
	_ = fs.WalkDir(r.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata"):
			return fs.SkipDir
		case path.Ext(name) == ".md":
			text, err := fs.ReadFile(r.fsys, name)
			of(name).add(name, notProse.ReplaceAllString(string(text), "x"))
			return err
		}
		return nil
	})
	return counts
}

// plainLines returns the lines of plainFile, sorted by name, with the total at the end.
func plainLines(counts map[string]*plainCount) string {
	var b strings.Builder
	total := plainCount{}
	b.WriteString("# name sentences is-what told who\n")
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		total.sentences += c.sentences
		for i, n := range c.matched {
			total.matched[i] += n
		}
		if c.matched != [3]int{} {
			fmt.Fprintln(&b, name, c.sentences, c.matched[0], c.matched[1], c.matched[2])
		}
	}
	fmt.Fprintln(&b, "# total", total.sentences, total.matched[0], total.matched[1], total.matched[2])
	return b.String()
}

// checkPlain compares the counts with those of plainFile.
func checkPlain(r *repo, report reporter) {
	counts := countPlain(r)
	text, _ := fs.ReadFile(r.fsys, "scripts/tidy/"+plainFile)
	stored := map[string][3]int{}
	for line := range strings.Lines(string(text)) {
		var name string
		var sentences int
		var n [3]int
		if _, err := fmt.Sscan(line, &name, &sentences, &n[0], &n[1], &n[2]); err == nil && !strings.HasPrefix(line, "#") {
			stored[name] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		for i, p := range plainPatterns {
			switch {
			case c.matched[i] > stored[name][i]:
				report(name, fmt.Sprintf("%d sentences match %s, and %d did; one of them: %s", c.matched[i], p.name, stored[name][i], c.first[i]))
			case c.matched[i] < stored[name][i]:
				report(name, fmt.Sprintf("%d sentences match %s, fewer than %d: run go test ./scripts/tidy -run TestPlain -write", c.matched[i], p.name, stored[name][i]))
			}
		}
	}
}

// plainTotals reads the last line of plainLines: the number of sentences that each pattern matches.
func plainTotals(lines string) (n [3]int) {
	_, total, _ := strings.Cut(lines, "# total")
	var sentences int
	_, _ = fmt.Sscan(total, &sentences, &n[0], &n[1], &n[2])
	return n
}

// TestPlain writes the counts, if -write is given and no total rises. Names of packages may change.
func TestPlain(t *testing.T) {
	if !*writePlain {
		return // checkPlain compares them
	}
	r, err := wholeRepo()
	if err != nil {
		t.Fatal(err)
	}
	lines := plainLines(countPlain(r))
	stored, err := os.ReadFile(plainFile)
	if err != nil {
		t.Fatal(err)
	}
	before, now := plainTotals(string(stored)), plainTotals(lines)
	for i, p := range plainPatterns {
		if now[i] > before[i] {
			t.Fatalf("%d sentences match %s, and %d did: reword them first; go test ./scripts/tidy names one of each package", now[i], p.name, before[i])
		}
	}
	if err := os.WriteFile(plainFile, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
}
