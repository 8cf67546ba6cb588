package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names are those of steps.
func names(list []step) (out []string) {
	for _, s := range list {
		out = append(out, s.name)
	}
	return out
}

// Each speed includes all steps of the quicker one, except the step memory (case files in memory), which is a part of
// "end".
func TestSpeeds(t *testing.T) {
	var before []string
	for _, v := range []speed{quick, change, night} {
		chosen, err := choose("", v)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range before {
			if name != "memory" && !slices.Contains(names(chosen), name) {
				t.Errorf("speed %d lacks %s", v, name)
			}
		}
		before = names(chosen)
	}
	got, err := choose("history,build", change)
	if err != nil || !slices.Equal(names(got), []string{"build", "history"}) {
		t.Errorf("%v, %v", names(got), err)
	}
	if _, err := choose("build,none", change); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a step that there is none of: %v", err)
	}
}

// No steps wait for each other in a circle: a step waits for the steps before it in its line, and for those in its
// field after.
func TestStepsEnd(t *testing.T) {
	ended := map[string]bool{}
	for range steps {
		for i, s := range steps {
			ready := !slices.ContainsFunc(steps[:i], func(b step) bool { return b.line == s.line && !ended[b.name] }) &&
				!slices.ContainsFunc(s.after, func(name string) bool { return !ended[name] })
			ended[s.name] = ended[s.name] || ready
		}
	}
	for _, s := range steps {
		if !ended[s.name] {
			t.Errorf("%s never begins", s.name)
		}
	}
}

// Steps run at the same time, their output is printed in the order of the table, and their counts are added up.
func TestLines(t *testing.T) {
	gate := make(chan struct{})
	chosen := []step{
		{name: "first", line: mainLine, run: func(r *run) error {
			<-gate // closed by the other step
			r.count.passed += 2
			_, err := io.WriteString(r.out, "one\n")
			return err
		}},
		{name: "second", line: beside, run: func(r *run) error {
			_, err := io.WriteString(r.out, "two\n")
			close(gate)
			return errors.Join(err, lacking("a C compiler"))
		}},
		{name: "third", line: mainLine, after: []string{"second"}, run: func(*run) error { return errors.New("broken") }},
	}
	var count tally
	out := printed(t, func() {
		r := &run{ctx: t.Context()}
		r.all(chosen)
		count = r.count
	})
	var order []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line == "one" || line == "two" || strings.HasPrefix(line, "--- FAIL third") {
			order = append(order, line[:3])
		}
	}
	if !slices.Equal(order, []string{"one", "two", "---"}) {
		t.Errorf("printed\n%s", out)
	}
	if count.passed != 2 || count.failed != 1 || !slices.Equal(count.missed, []string{"second: needs a C compiler"}) {
		t.Errorf("counted %+v", count)
	}
}

// After a run has ended, by its limit or an interrupt, no step begins, and none counts as failed.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	r := &run{ctx: ctx}
	printed(t, func() {
		r.all([]step{
			{name: "cut", line: mainLine, run: func(*run) error {
				end(errors.New("the limit of 1m was over"))
				return errors.New("killed")
			}},
			{name: "never", line: mainLine, run: func(*run) error { t.Error("it began"); return nil }},
		})
	})
	if want := []string{"the rest of cut: the limit of 1m was over", "never: the limit of 1m was over"}; r.count.failed != 0 || !slices.Equal(r.count.missed, want) {
		t.Errorf("counted %+v", r.count)
	}
}

// printed returns the output of a function on standard output.
func printed(t *testing.T, f func()) string {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = was }()
	read := make(chan string)
	go func() {
		var b bytes.Buffer
		_, _ = io.Copy(&b, in)
		read <- b.String()
	}()
	f()
	_ = out.Close()
	return <-read
}

// The packages with the race detector in each run.
func TestRaced(t *testing.T) {
	for _, pkg := range []string{"/shard", "/shard/jobs", "/storage/pebblekv/filescan", "/wire", "/wire/command/data", "/collection/catalog"} {
		if !isRaced(module + pkg) {
			t.Errorf("%s has none", pkg)
		}
	}
	for _, pkg := range []string{"/collection/shard", "/collection/expr", "/compat-tests/servers/inprocess", "/cmd/cantle/cli"} {
		if isRaced(module + pkg) {
			t.Errorf("%s has it", pkg)
		}
	}
}

// Each test in the table alone, which a change runs without the race detector, exists in the package where the table
// has it. No other package of raced has a test of that name, which would be left out unnoticed.
func TestAlone(t *testing.T) {
	found := map[string][]string{}
	for _, folder := range raced {
		root := filepath.Join("..", "..")
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for pkg, names := range alone {
				for _, name := range names {
					if strings.Contains(string(text), "\nfunc "+name+"(") {
						in, _ := filepath.Rel(root, filepath.Dir(path))
						found[pkg+" "+name] = append(found[pkg+" "+name], "/"+filepath.ToSlash(in))
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for pkg, names := range alone {
		for _, name := range names {
			if in := found[pkg+" "+name]; !slices.Equal(in, []string{pkg}) {
				t.Errorf("%s is in %v, not in %s", name, in, pkg)
			}
		}
	}
}
