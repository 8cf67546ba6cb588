package casefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/testenv"
)

// show prints the cases of testdata/grammar.txt.
func show(t *testing.T, c *Case) string {
	switch c.Verb {
	case "show":
		var b strings.Builder
		fmt.Fprintf(&b, "verb %s at %d\n", c.Verb, c.Line)
		for _, a := range c.Args {
			fmt.Fprintf(&b, "%q=%q at %d\n", a.Key, a.Value, a.Line)
		}
		return b.String()
	case "echo":
		text, ok := c.Get("text")
		if !ok {
			t.Fatalf("%s: no text", c.Position())
		}
		return text
	}
	t.Fatalf("unknown verb %q", c.Verb)
	return ""
}

func TestGrammar(t *testing.T) { Run(t, "testdata", show) }

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no separator", "# head\n\nmatch\nfilter: {}\n", "f.txt:3: case \"match\" has no ---- line"},
		{"verb with colon", "filter: {}\n----\n", "f.txt:1: a case begins with a verb"},
		{"blank inside", "match\nfilter: {}\n\n----\n", "f.txt:3: blank line inside the case of line 1"},
		{"no colon", "match\nfilter {a: 1}\n----\n", "f.txt:2: expected `key: value`"},
		{"lonely continuation", "match\n  x\n----\n", "f.txt:2: a continuation line needs an argument"},
		{"unclosed", "match\n----\n----\na\n\n", "f.txt:1: the doubled ---- that opens"},
		{"unknown release", "match\nreleases: 8.0 8.9\n----\n", "f.txt:2: \"8.9\" is no release"},
		{"no release", "match\nreleases:\n----\n", "f.txt:2: releases names none"},
		{"carriage return", "match\r\n----\r\n", "carriage returns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("f.txt", tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestHeaderAndAccessors(t *testing.T) {
	f, err := Parse("f.txt", "# one\n#two\n\nv\na: 1\na: 2\n----\nx\n\n# later\nw\n----\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.Header, "|"); got != "one|two" {
		t.Errorf("header %q", got)
	}
	if len(f.Cases) != 2 {
		t.Fatalf("%d cases", len(f.Cases))
	}
	c := f.Cases[0]
	if v, ok := c.Get("a"); v != "1" || !ok {
		t.Errorf("Get = %q, %v", v, ok)
	}
	if _, ok := c.Get("b"); ok {
		t.Error("Get found an absent key")
	}
	if all := c.All("a"); len(all) != 2 || all[1] != "2" {
		t.Errorf("All = %q", all)
	}
	if c.want != "x" || f.Cases[1].want != "" {
		t.Errorf("outputs %q, %q", c.want, f.Cases[1].want)
	}
}

// TestRewriteKeepsTheRest checks that rewriting a case file keeps every line that is not an output, and that the
// written file reads back as the same cases with the new outputs.
func TestRewriteKeepsTheRest(t *testing.T) {
	text := "# head\n\nv\n# inner\na: 1\n----\nold\n\n\n# between\nw\n----\n----\nx\n\ny\n----\n----\n\nz\n----\n"
	want := "# head\n\nv\n# inner\na: 1\n----\n----\nnew\n\nlines\n----\n----\n\n\n# between\nw\n----\nplain\n\nz\n----\nadded\n"
	f, err := Parse("f.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	answers := []string{"new\n\nlines", "plain", "added"}
	pointers := []*string{&answers[0], &answers[1], &answers[2]}
	got := f.rewritten(pointers)
	if got != want {
		t.Fatalf("rewritten:\n%s\ndiff:\n%s", got, Diff(want, got))
	}
	again, err := Parse("f.txt", got)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range again.Cases {
		if c.want != answers[i] {
			t.Errorf("case %d reads back as %q, want %q", i, c.want, answers[i])
		}
	}
	if same := f.rewritten(make([]*string, 3)); same != text {
		t.Errorf("nil answers changed the file:\n%s", Diff(text, same))
	}
}

// TestRunFailsAndRewrites checks that a wrong expectation fails, and that -rewrite repairs it: it runs a copy
// of this test binary on a file with a mistake.
func TestRunFailsAndRewrites(t *testing.T) {
	if args, ok := testenv.Arguments(t); ok {
		Run(t, args[0], show)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "wrong.txt")
	if err := os.WriteFile(path, []byte("# kept\necho\ntext: right\n----\nwrong\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	child := func(args ...string) (string, error) {
		cmd := testenv.Again(t, dir)
		cmd.Args = append(append(cmd.Args, "-test.v"), args...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := child()
	if err == nil {
		t.Fatalf("a wrong expectation passed:\n%s", out)
	}
	for _, want := range []string{"wrong.txt:2", "- wrong", "+ right"} {
		if !strings.Contains(out, want) {
			t.Errorf("failure does not show %q:\n%s", want, out)
		}
	}
	if out, err := child("-rewrite"); err != nil {
		t.Fatalf("rewriting failed:\n%s", out)
	}
	text, _ := os.ReadFile(path)
	if string(text) != "# kept\necho\ntext: right\n----\nright\n" {
		t.Errorf("rewritten file:\n%s", text)
	}
	if out, err := child(); err != nil {
		t.Errorf("rewritten file fails:\n%s", out)
	}
}

func TestRunRefusesEmptyDirectory(t *testing.T) {
	if _, ok := testenv.Arguments(t); ok {
		Run(t, t.TempDir(), show)
		return
	}
	if out, err := testenv.Again(t).CombinedOutput(); err == nil {
		t.Errorf("an empty directory passed:\n%s", out)
	}
}

func TestDiff(t *testing.T) {
	if got := Diff("a\nb\nc", "a\nx\nc\nd"); got != "  a\n- b\n+ x\n  c\n+ d" {
		t.Errorf("diff:\n%s", got)
	}
	if got := Diff("", "x"); got != "+ x" {
		t.Errorf("diff of nothing: %q", got)
	}
	if got := Diff("x", "x"); got != "" {
		t.Errorf("diff of equals: %q", got)
	}
}

// TestReleases checks that a case that names releases of MongoDB is run once at each, and that the case fails if its
// handler ignores the release.
func TestReleases(t *testing.T) {
	f, err := Parse("f.txt", "v\n----\n\nw\nreleases: 7.0 8.3+\na: 1\n----\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range f.Cases {
		for _, run := range c.Runs() {
			if _, ok := run.Get("releases"); ok {
				t.Error("the handler sees the key")
			}
			if run.ignored() != (c.Verb == "w") {
				t.Errorf("%s: nobody has asked, ignored is %v", run.Name("f"), run.ignored())
			}
			got = append(got, run.Name("f")+" at "+run.Release().String())
			if run.ignored() {
				t.Errorf("%s: its handler has asked", run.Name("f"))
			}
		}
	}
	if want := "f:1 at 8.0, f:4@7.0 at 7.0, f:4@8.3 at 8.3, f:4@9.0 at 9.0"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}
