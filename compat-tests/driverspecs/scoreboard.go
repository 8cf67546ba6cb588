package driverspecs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// scoreboard is the file of that name: a row of counts per suite and a reason per
// known failure.
type scoreboard struct {
	rows  map[string]counts
	known map[string]string // full name of a test → why it fails
}

// counts are the leaves of a suite by outcome.
type counts struct{ passed, failed, skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

func count(results map[string]result) (c counts) {
	for _, r := range results {
		switch r.outcome {
		case "PASS":
			c.passed++
		case "FAIL":
			c.failed++
		case "SKIP":
			c.skipped++
		}
	}
	return c
}

// scoreboardHead begins the file.
const scoreboardHead = `# The Go driver's tests for servers: what passed, what failed, and what the driver's
# runner skipped (other topologies and versions, operations the driver lacks). See doc.go.
`

// knownHead begins the list of failures.
const knownHead = "# Known failures: test: reason"

// readScoreboard reads the file. Errors: those of the file system, a line that is
// neither a row nor a failure.
func readScoreboard(path string) (*scoreboard, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &scoreboard{rows: map[string]counts{}, known: map[string]string{}}
	inKnown := false
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == knownHead:
			inKnown = true
		case line == "" || line[0] == '#':
		case inKnown:
			name, reason, _ := strings.Cut(line, ": ")
			b.known[strings.TrimSuffix(name, ":")] = strings.TrimSpace(reason)
		default:
			var name string
			var c counts
			if _, err := fmt.Sscan(line, &name, &c.passed, &c.failed, &c.skipped); err != nil {
				return nil, fmt.Errorf("%s:%d: want a name and three numbers: %w", path, i+1, err)
			}
			b.rows[name] = c
		}
	}
	return b, nil
}

// write writes the file.
func (b *scoreboard) write(path string) error {
	var out bytes.Buffer
	out.WriteString(scoreboardHead)
	fmt.Fprintf(&out, "\n# %-36s %6s %6s %7s\n", "suite", "passed", "failed", "skipped")
	var sum counts
	for _, s := range suites {
		c := b.rows[s.name]
		fmt.Fprintf(&out, "%-38s %6d %6d %7d\n", s.name, c.passed, c.failed, c.skipped)
		sum.passed, sum.failed, sum.skipped = sum.passed+c.passed, sum.failed+c.failed, sum.skipped+c.skipped
	}
	fmt.Fprintf(&out, "# %-36s %6d %6d %7d\n\n%s\n", "total", sum.passed, sum.failed, sum.skipped, knownHead)
	for _, name := range slices.Sorted(maps.Keys(b.known)) {
		fmt.Fprintf(&out, "%s: %s\n", name, b.known[name])
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
