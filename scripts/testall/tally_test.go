package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// events returns a stream of `go test -json` made from short lines of the form "action|test|output".
func events(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		f := strings.SplitN(line, "|", 3)
		b.WriteString(`{"Action":"` + f[0] + `","Package":"p"`)
		if len(f) > 1 && f[1] != "" {
			b.WriteString(`,"Test":"` + f[1] + `"`)
		}
		if len(f) > 2 {
			b.WriteString(`,"Output":"` + f[2] + `\n"`)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestListenCountsLeaves(t *testing.T) {
	for _, tc := range []struct {
		name    string
		stream  string
		want    tally
		printed string
	}{
		{"leaves only", events(
			"run|TestA", "run|TestA/x", "run|TestA/y", "pass|TestA/x", "skip|TestA/y", "pass|TestA",
			"run|TestB", "pass|TestB", "output||ok p 0.1s", "pass|",
		), tally{passed: 2, skipped: 1}, "ok p 0.1s"},
		{"failing leaf counts once", events(
			"run|TestA", "run|TestA/x", "output|TestA/x|why", "fail|TestA/x", "fail|TestA", "output||FAIL p", "fail|",
		), tally{failed: 1}, "why"},
		{"parent fails alone", events(
			"run|TestA", "run|TestA/x", "pass|TestA/x", "output|TestA|leak", "fail|TestA", "fail|",
		), tally{passed: 1, failed: 1}, "leak"},
		{"package does not build", `{"Action":"build-output","ImportPath":"p","Output":"p.go:1: syntax error\n"}` + "\n" + events("fail|"),
			tally{failed: 1}, "syntax error"},
		{"panic leaves a test open", events("run|TestA", "output|TestA|panic: boom", "fail|"),
			tally{failed: 1}, "panic: boom"},
		{"noise is printed", "go: downloading something\n" + events("run|TestA", "pass|TestA", "pass|"),
			tally{passed: 1}, "downloading"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got tally
			var out strings.Builder
			if err := listen(&got, strings.NewReader(tc.stream), &out, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got.passed != tc.want.passed || got.failed != tc.want.failed || got.skipped != tc.want.skipped {
				t.Errorf("counted %+v, want %+v", got, tc.want)
			}
			if !strings.Contains(out.String(), tc.printed) {
				t.Errorf("printed %q, want %q in it", out.String(), tc.printed)
			}
		})
	}
}

func TestReportEndsWithTheClosingLine(t *testing.T) {
	c := tally{passed: 3}
	c.skip("p TestX", "no server")
	c.skip("p TestY", "no server")
	c.fail("p TestY")
	var out strings.Builder
	c.report(&out)
	if !strings.HasSuffix(out.String(), "\n3 passed, 1 failed, 2 skipped\n") {
		t.Errorf("report:\n%s", out.String())
	}
}

// Failures after the end of the run count as not run, once for each package, and the closing line has that count.
func TestCutOff(t *testing.T) {
	var got tally
	cut := false
	stream := events("run|TestA", "pass|TestA", "run|TestB/x", "fail|TestB/x", "fail|TestB", "fail|")
	err := listen(&got, strings.NewReader(stream), io.Discard, func() error {
		if cut = true; got.passed > 0 {
			return errors.New("the limit of 1m was over")
		}
		return nil
	})
	if err != nil || !cut {
		t.Fatal(err)
	}
	var out strings.Builder
	got.report(&out)
	if want := "not run: the rest of p: the limit of 1m was over\n1 passed, 0 failed, 0 skipped, 1 not run\n"; out.String() != want {
		t.Errorf("report %q, want %q", out.String(), want)
	}
}
