package programme

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Lines returns the new text of counts.txt, with a line for each result: row, column and part, test, count,
// outcome, day, and detail. A line of the earlier text, kept, stays if its test has no newer result and still
// belongs to its row.
func Lines(kept string, results []Result) string {
	newest := map[series]group{}
	for line := range strings.Lines(kept) {
		if f := strings.Split(line, "\t"); len(f) == fields {
			column, part, _ := strings.Cut(f[1], " ")
			newest[series{f[0], column, f[2]}] = newest[series{f[0], column, f[2]}].with(part, line)
		}
	}
	for _, r := range results {
		outcome, column := "passed", r.Column
		if r.Failed {
			outcome = "FAILED"
		}
		if r.Part != "" {
			column += " " + r.Part
		}
		line := fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.Row, column, r.Test, r.Count, outcome, r.At.UTC().Format(time.DateOnly), r.Detail)
		newest[series{r.Row, r.Column, r.Test}] = newest[series{r.Row, r.Column, r.Test}].with(r.Part, line)
	}
	var b strings.Builder
	b.WriteString("# Printed by go run ./scripts/gendocs -faults from the results of runs. DO NOT EDIT.\n")
	for _, row := range Rows {
		for _, column := range []string{Run, Nightly, Release} {
			for _, test := range row.Tests {
				_, name, _ := strings.Cut(test, " ")
				for _, l := range newest[series{row.Name, column, name}] {
					b.WriteString(l)
				}
			}
		}
	}
	return b.String()
}

// series identifies a series of counts.
type series struct{ row, column, test string }

// group holds the lines of counts.txt of one test in one column: one line for the whole column, or one for each
// part.
type group []string

// with returns the group with the line of a part added or replaced, unless the group has newer lines. Lines of
// parts of another division, or of the whole, are removed.
func (g group) with(part, line string) group {
	_, of, _ := strings.Cut(part, "/")
	day := strings.Split(line, "\t")[5]
	var out group
	for _, l := range g {
		f := strings.Split(l, "\t")
		_, other, _ := strings.Cut(f[1], " ")
		_, otherOf, _ := strings.Cut(other, "/")
		if (other == part || otherOf != of) && f[5] > day {
			return g
		}
		if other != part && otherOf == of {
			out = append(out, l)
		}
	}
	out = append(out, line)
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(strings.Split(a, "\t")[1]), len(strings.Split(b, "\t")[1])), strings.Compare(a, b))
	})
	return out
}

// fields is the number of fields, separated by tabs, of a line of counts.txt.
const fields = 7

// counted is the sum of the lines of counts.txt of a row in one column.
type counted struct {
	n       int
	failed  bool
	day     string
	details []string
}

// countsOf reads the lines of a row.
func countsOf(lines, row string) map[string]*counted {
	out := map[string]*counted{}
	for line := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != fields || f[0] != row {
			continue
		}
		column, part, _ := strings.Cut(f[1], " ")
		c := out[column]
		if c == nil {
			c = &counted{}
			out[column] = c
		}
		var n int
		_, _ = fmt.Sscan(f[3], &n)
		c.n += n
		c.failed = c.failed || f[4] != "passed"
		c.day = max(c.day, f[5])
		switch number, _, _ := strings.Cut(part, "/"); {
		case f[6] == "" || part != "" && number != "1":
		case part != "":
			c.details = append(c.details, "part "+part+": "+f[6])
		default:
			c.details = append(c.details, f[6])
		}
	}
	return out
}

// Page returns the text of FAULTS.md, with the counts in lines, the text of counts.txt.
func Page(lines string) []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Printed by scripts/gendocs from compat-tests/faults/programme. DO NOT EDIT. -->\n\n# Faults\n\n" +
		"What you can rely on when a machine loses its power, a disk fails or a client is hostile, and how and how much this is tested.\n\n" +
		"## Promises\n\n")
	for i, p := range Promises {
		fmt.Fprintf(&b, "%d. %s Tested by: %s.\n", i+1, p, strings.Join(showing(i+1), ", "))
	}
	b.WriteString("\n## Tests\n\n" +
		"Each kind of fault has a row. *Each run* is the amount that `./scripts/test` runs, which every change must pass; *nightly* that of `./scripts/test --long`; " +
		"*release* the amount before a release. A **canary** is a bug that is planted to check that the row detects it. It is " +
		"a test as well, which fails if the bug is not detected; canaries that need a server of their own are built and run with `--long`.\n\n" +
		"| fault | each run | nightly | release | last counted |\n|---|---|---|---|---|\n")
	for _, r := range Rows {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s |\n", r.Name, r.Name, r.eachRun(), amount(r.Nightly, r.Unit), amount(r.Release, r.Unit), last(countsOf(lines, r.Name)))
	}
	for _, r := range Rows {
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n", r.Name, r.What)
		if r.Note != "" {
			fmt.Fprintf(&b, "%s.\n\n", r.Note)
		}
		fmt.Fprintf(&b, "Tests: %s.", strings.Join(code(r.Tests), ", "))
		if r.Canary != "" {
			fmt.Fprintf(&b, " Canary: %s (`%s`).", r.Canary, r.CanaryTest)
		} else {
			b.WriteString(" It has no canary yet.")
		}
		b.WriteString("\n")
		counts := countsOf(lines, r.Name)
		for _, column := range []string{Run, Nightly, Release} {
			if c := counts[column]; c != nil && len(c.details) > 0 {
				fmt.Fprintf(&b, "\n%s, %s: %s.\n", strings.ToUpper(column[:1])+column[1:], c.day, strings.Join(c.details, "; "))
			}
		}
	}
	b.WriteString("\n## Not tested\n\n")
	for _, n := range NotShown {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	b.WriteString("\n## Running the tests\n\n" +
		"`./scripts/test --only=end` runs the amount of each run and prints its counts; `./scripts/test --long --only=soak,fuzz` runs the nightly amount. With `--rows=simulation,kill` it runs only these rows, with `--part=2/8` the second of eight parts, so that a night can be divided; each count is stored with its day. To run a single test: " +
		"`go test ./compat-tests/faults/damage -v`, with `CANTLE_LONG=nightly` in the environment for the nightly amount. A failure prints its seed and how to repeat it. " +
		"`go run ./scripts/gendocs -faults` writes the counts of the last runs into this page.\n")
	return b.Bytes()
}

// showing returns links to the rows whose tests check a promise, for FAULTS.md.
func showing(promise int) (out []string) {
	for _, r := range Rows {
		for _, p := range r.Promises {
			if p == promise {
				out = append(out, fmt.Sprintf("[%s](#%s)", r.Name, r.Name))
			}
		}
	}
	return out
}

// code formats texts as code.
func code(texts []string) (out []string) {
	for _, t := range texts {
		out = append(out, "`"+t+"`")
	}
	return out
}

// amount returns a number with its unit as text; 0 means all, so it returns "all" and the unit.
func amount(n int, unit string) string {
	if n == 0 {
		return "all " + unit
	}
	return thousands(n) + " " + unit
}

// eachRun returns how many faults of a row the test run of each change does, as text; "–" if none.
func (r Row) eachRun() string {
	if r.AtNight {
		return "–"
	}
	return amount(r.Run, r.Unit)
}

// last returns the counts of a row's last runs as text, for the columns that have run.
func last(counts map[string]*counted) string {
	var out []string
	for _, column := range []string{Run, Nightly, Release} {
		if c := counts[column]; c != nil {
			text := fmt.Sprintf("%s %s, %s", thousands(c.n), column, c.day)
			if c.failed {
				text += ", **failed**"
			}
			out = append(out, text)
		}
	}
	if out == nil {
		return "not counted"
	}
	return strings.Join(out, "<br>")
}

// thousands prints a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
