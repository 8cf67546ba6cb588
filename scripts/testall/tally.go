package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// tally counts the results of tests. Only tests without subtests are counted; a test with subtests counts as well if
// it fails although none of its subtests did.
type tally struct {
	passed, failed, skipped int
	failures                []string // the failures, for the end of the report
	missed                  []string // the steps and packages that were not run, each with the reason
	skips                   []skips  // the skipped tests, by reason
}

// skips are the tests that were skipped for one reason.
type skips struct {
	reason string
	first  string // the first of them
	count  int
}

// total returns the number of counted results.
func (c *tally) total() int { return c.passed + c.failed + c.skipped }

// miss records a step or package that was not run, and why. That is not a failure.
func (c *tally) miss(what, reason string) {
	c.missed = append(c.missed, what+": "+reason)
}

// fail counts one failure.
func (c *tally) fail(what string) {
	c.failed++
	c.failures = append(c.failures, what)
}

// skip counts one skipped test.
func (c *tally) skip(what, reason string) {
	c.skipped++
	for i := range c.skips {
		if c.skips[i].reason == reason {
			c.skips[i].count++
			return
		}
	}
	c.skips = append(c.skips, skips{reason: reason, first: what, count: 1})
}

// add adds the counts of another tally.
func (c *tally) add(o *tally) {
	c.passed += o.passed
	c.failed += o.failed
	c.failures = append(c.failures, o.failures...)
	c.missed = append(c.missed, o.missed...)
	for _, s := range o.skips {
		for range s.count {
			c.skip(s.first, s.reason)
		}
	}
}

// report prints the skipped tests, the failures, the steps and packages that were not run, and the closing line.
func (c *tally) report(w io.Writer) {
	for _, s := range c.skips {
		more := ""
		if s.count > 1 {
			more = fmt.Sprintf(" and %d more", s.count-1)
		}
		fmt.Fprintf(w, "skipped: %s%s: %s\n", s.first, more, s.reason)
	}
	for _, f := range c.failures {
		fmt.Fprintf(w, "failed: %s\n", f)
	}
	for _, m := range c.missed {
		fmt.Fprintf(w, "not run: %s\n", m)
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
	if len(c.missed) > 0 {
		fmt.Fprintf(w, ", %d not run", len(c.missed))
	}
	fmt.Fprintln(w)
}

// event is one line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build events
	Test       string
	Output     string
}

// listener converts the events of one `go test -json` into counts. It prints the closing line of each package, and
// all output of a failing test.
type listener struct {
	count    *tally
	out      io.Writer
	said     map[string][]string // package + test → its output
	parents  map[string]bool     // tests with subtests
	broken   map[string]bool     // tests and packages with a failure inside
	finished map[string]bool     // tests with a result
	cutOff   func() error        // returns why the run has ended, nil while it runs
	rest     map[string]bool     // packages that were cut off by the end of the run
}

// listen reads the events of `go test -json` until the stream ends. Lines that are not events are printed. If cutOff
// returns why the run has ended, a failure is not the package's own: the package is then counted as not run.
func listen(count *tally, in io.Reader, out io.Writer, cutOff func() error) error {
	l := &listener{
		count: count, out: out, cutOff: cutOff, rest: map[string]bool{},
		said: map[string][]string{}, parents: map[string]bool{}, broken: map[string]bool{}, finished: map[string]bool{},
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<20), 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		l.take(e)
	}
	return lines.Err()
}

// take handles one event.
func (l *listener) take(e event) {
	key := e.Package + "\x00" + e.Test
	if e.Action == "fail" {
		if why := l.cutOff(); why != nil {
			if !l.rest[e.Package] {
				l.rest[e.Package] = true
				l.count.miss("the rest of "+e.Package, why.Error())
			}
			return
		}
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(l.out, e.Output)
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			l.parents[e.Package+"\x00"+e.Test[:i]] = true
		}
	case "output":
		l.output(key, e)
	case "pass", "fail", "skip":
		l.finished[key] = true
		if e.Test == "" {
			l.packageDone(e)
		} else {
			l.testDone(key, e)
		}
	}
}

// output keeps the output of a test until its result, and prints the closing lines of packages.
func (l *listener) output(key string, e event) {
	if e.Test != "" {
		if !strings.HasPrefix(strings.TrimSpace(e.Output), "=== ") {
			l.said[key] = append(l.said[key], e.Output)
		}
		return
	}
	if e.Output == "PASS\n" || strings.Contains(e.Output, "[no test files]") {
		return
	}
	fmt.Fprint(l.out, e.Output)
}

// testDone counts one test.
func (l *listener) testDone(key string, e event) {
	name := strings.TrimSpace(e.Package + " " + e.Test)
	switch {
	case e.Action == "fail":
		for _, line := range l.said[key] {
			fmt.Fprint(l.out, line)
		}
		if !l.broken[key] {
			l.count.fail(name)
		}
		l.breakParents(e)
	case l.parents[key]:
	case e.Action == "skip":
		l.count.skip(name, reason(l.said[key]))
	default:
		l.count.passed++
	}
	delete(l.said, key)
}

// packageDone counts a package that failed for another reason than a failing
// test: it did not build, panicked, or ran out of time.
func (l *listener) packageDone(e event) {
	if e.Action != "fail" {
		return
	}
	// After a panic or a timeout some tests have no result: their output is printed, because it shows the reason.
	for _, key := range slices.Sorted(maps.Keys(l.said)) {
		if strings.HasPrefix(key, e.Package+"\x00") && !l.finished[key] {
			for _, line := range l.said[key] {
				fmt.Fprint(l.out, line)
			}
			delete(l.said, key)
		}
	}
	if !l.broken[e.Package+"\x00"] {
		l.count.fail(e.Package)
	}
}

// breakParents records that the tests around a failed subtest, and its package, contain a failure.
func (l *listener) breakParents(e event) {
	l.broken[e.Package+"\x00"] = true
	name := e.Test
	for i := strings.LastIndexByte(name, '/'); i >= 0; i = strings.LastIndexByte(name, '/') {
		name = name[:i]
		l.broken[e.Package+"\x00"+name] = true
	}
}

// reason returns the reason in the output of a skipped test.
func reason(said []string) string {
	for _, line := range said {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--- ") {
			return line
		}
	}
	return "it does not say why"
}
