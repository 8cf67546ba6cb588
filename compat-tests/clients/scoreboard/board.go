package scoreboard

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Board is the content of a scoreboard, the file of a driver's known results: a row of counts per suite, and a reason
// for each known failure.
type Board struct {
	Rows  map[string]Counts
	Known map[string]string // full name of a test → the reason of its failure
}

// New returns an empty board.
func New() *Board { return &Board{Rows: map[string]Counts{}, Known: map[string]string{}} }

// Counts are the tests of a suite by outcome.
type Counts struct{ Passed, Failed, Skipped int }

func (c Counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.Passed, c.Failed, c.Skipped)
}

// Count counts results.
func Count(results map[string]Result) (c Counts) {
	for _, r := range results {
		switch r.Outcome {
		case Passed:
			c.Passed++
		case Failed:
			c.Failed++
		case Skipped:
			c.Skipped++
		}
	}
	return c
}

// knownHead begins the list of failures.
const knownHead = "# Known failures: test: reason"

// Read reads the file of a scoreboard.
// Errors: errors of the file system; a line that is neither a row nor a failure.
func Read(path string) (*Board, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := New()
	inKnown := false
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == knownHead:
			inKnown = true
		case line == "" || line[0] == '#':
		case inKnown:
			name, reason, _ := strings.Cut(line, ": ")
			b.Known[strings.TrimSuffix(name, ":")] = strings.TrimSpace(reason)
		default:
			var name string
			var c Counts
			if _, err := fmt.Sscan(line, &name, &c.Passed, &c.Failed, &c.Skipped); err != nil {
				return nil, fmt.Errorf("%s:%d: want a name and three numbers: %w", path, i+1, err)
			}
			b.Rows[name] = c
		}
	}
	return b, nil
}

// Write writes the file of a scoreboard: the head, which are comment lines that describe the file, and the rows in
// the order of the suites.
func (b *Board) Write(path, head string, suites []string) error {
	var out bytes.Buffer
	out.WriteString(head)
	fmt.Fprintf(&out, "\n# %-36s %6s %6s %7s\n", "suite", "passed", "failed", "skipped")
	var sum Counts
	for _, name := range suites {
		c := b.Rows[name]
		fmt.Fprintf(&out, "%-38s %6d %6d %7d\n", name, c.Passed, c.Failed, c.Skipped)
		sum.Passed, sum.Failed, sum.Skipped = sum.Passed+c.Passed, sum.Failed+c.Failed, sum.Skipped+c.Skipped
	}
	fmt.Fprintf(&out, "# %-36s %6d %6d %7d\n\n%s\n", "total", sum.Passed, sum.Failed, sum.Skipped, knownHead)
	for _, name := range slices.Sorted(maps.Keys(b.Known)) {
		fmt.Fprintf(&out, "%s: %s\n", name, b.Known[name])
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
