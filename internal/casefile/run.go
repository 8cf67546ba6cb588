package casefile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rewrite is the flag -rewrite of each test binary that imports this package: expected outputs are replaced by the
// actual ones.
var rewrite = flag.Bool("rewrite", false, "replace the expected outputs of case files by the actual ones")

// Rewriting reports whether the flag -rewrite is set, for tests that support it for files of another format.
func Rewriting() bool { return *rewrite }

// Run runs each case of each .txt file under dir, except in folders named fuzz, as a subtest named file:line; a case
// that names releases is run once for each, as file:line@release. It compares the output that handle returns, without
// one final newline, with the expected output. A handler may use its own t to fail or skip; under -rewrite, a case
// that it ends by t.Fatal or t.Skip keeps its expected output.
//
// A directory without case files fails: a test that runs nothing proves nothing.
func Run(t *testing.T, dir string, handle func(t *testing.T, c *Case) string) {
	t.Helper()
	paths, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no case files (*.txt) under %s", dir)
	}
	for _, path := range paths {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		RunFile(t, filepath.ToSlash(name), path, handle)
	}
}

// RunFile runs the cases of one file as Run does; the names of the subtests begin with name.
func RunFile(t *testing.T, name, path string, handle func(t *testing.T, c *Case) string) {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	if len(f.Cases) == 0 {
		t.Errorf("%s: no cases in it", path)
	}
	answers := make([]*string, len(f.Cases))
	for i, c := range f.Cases {
		for _, c := range c.Runs() {
			t.Run(c.Name(name), func(t *testing.T) {
				got := strings.TrimSuffix(handle(t, c), "\n")
				answers[i] = &got
				if c.ignored() {
					t.Error("the case names releases, and its runner does not ask for them")
				}
				if got != c.want && !*rewrite {
					t.Errorf("\n%s", report(f, c, got))
				}
			})
		}
	}
	if !*rewrite {
		return
	}
	old := strings.Join(f.lines, "\n") + "\n"
	if text := f.rewritten(answers); text != old {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// report returns the text of the error for a case whose output differs from the expected one.
func report(f *File, c *Case, got string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.Position(), c.Verb)
	for _, line := range f.lines[c.Line : c.outStart-1] {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	fmt.Fprintf(&b, "  output (- expected, + got):\n")
	for _, line := range strings.Split(Diff(c.want, got), "\n") {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	fmt.Fprintf(&b, "  If the new output is right, run the test again with -rewrite.")
	return b.String()
}

// rewritten returns the text of the case file with the expected outputs replaced by answers, one for each case; a nil
// answer keeps the old output.
func (f *File) rewritten(answers []*string) string {
	var out []string
	done := 0
	for i, c := range f.Cases {
		if answers[i] == nil || *answers[i] == c.want {
			continue
		}
		out = append(out, f.lines[done:c.outStart]...)
		out = append(out, outputLines(*answers[i])...)
		done = c.outEnd
	}
	out = append(out, f.lines[done:]...)
	return strings.Join(out, "\n") + "\n"
}

// outputLines formats an output for a case file: between doubled dashes if the output contains a blank line or begins
// with a separator.
func outputLines(answer string) []string {
	if answer == "" {
		return nil
	}
	lines := strings.Split(answer, "\n")
	plain := lines[0] != separator
	for _, line := range lines {
		plain = plain && line != ""
	}
	if plain {
		return lines
	}
	lines = append([]string{separator}, lines...)
	return append(lines, separator, separator)
}
