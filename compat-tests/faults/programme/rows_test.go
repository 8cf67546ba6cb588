package programme

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/internal/testenv"
)

// TestRows checks that every test and canary in the rows of the fault programme exists, and that every promise has
// a row.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows {
		if seen[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		seen[r.Name] = true
		if r.What == "" || r.Unit == "" || len(r.Tests) == 0 || r.Canary == "" || r.CanaryTest == "" {
			t.Errorf("%s is not whole", r.Name)
		}
		for _, name := range append(r.Tests, r.CanaryTest) {
			if name != "" && !exists(t, name) {
				t.Errorf("%s: there is no test %s", r.Name, name)
			}
		}
		for _, p := range r.Promises {
			if p < 1 || p > len(Promises) {
				t.Errorf("%s: there is no promise %d", r.Name, p)
			}
		}
	}
	for i := range Promises {
		if len(showing(i+1)) == 0 {
			t.Errorf("nothing shows promise %d", i+1)
		}
	}
}

// exists reports whether the test name, a folder and a function, is in the source files.
func exists(t *testing.T, name string) bool {
	t.Helper()
	dir, function, _ := strings.Cut(name, " ")
	pattern, text := "*_test.go", "func "+function+"("
	if strings.HasPrefix(dir, "scripts/") && !strings.HasPrefix(function, "Test") { // a step of the test run
		pattern, text = "*.go", `{"`+function+`", `
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "..", dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), text) {
			return true
		}
	}
	return false
}

// TestPage checks that results that were recorded appear on the page FAULTS.md.
func TestPage(t *testing.T) {
	day := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const a, b = "TestKillDuringWrites", "TestRetryAfterKill"
	kept := Lines("", []Result{
		{Row: "kill", Test: a, Column: Run, Count: 7, At: day.AddDate(0, 0, -2), Detail: "is older"},
		{Row: "kill", Test: b, Column: Run, Count: 34, At: day.AddDate(0, 0, -1)},
		{Row: "kill", Test: "TestGone", Column: Run, Count: 9, At: day},
	})
	lines := Lines(kept, []Result{
		{Row: "kill", Test: a, Column: Run, Count: 1200, At: day, Detail: "nothing was lost"},
		{Row: "kill", Test: b, Column: Run, Count: 5, At: day.AddDate(0, 0, -3)},
		{Row: "kill", Test: a, Column: Nightly, Count: 5, Failed: true, At: day},
	})
	lines = Lines(lines, []Result{{Row: "backup", Test: "TestDrill", Column: Nightly, Count: 200, At: day.AddDate(0, 0, -1)}})
	lines = Lines(lines, []Result{{Row: "backup", Test: "TestDrill", Column: Nightly, Part: "2/12", Count: 20, At: day, Detail: "two"}})
	lines = Lines(lines, []Result{
		{Row: "backup", Test: "TestDrill", Column: Nightly, Part: "10/12", Count: 15, At: day},
		{Row: "backup", Test: "TestDrill", Column: Nightly, Part: "1/12", Count: 14, At: day, Detail: "one"},
		{Row: "backup", Test: "TestDrill", Column: Nightly, Part: "2/12", Count: 16, At: day, Detail: "again"},
	})
	text := string(Page(lines))
	for _, want := range []string{
		"| [kill](#kill) | 60 kills | 2,000 kills | 20,000 kills | 1,234 run, 2026-11-23<br>5 nightly, 2026-11-23, **failed** |\n",
		"\nRun, 2026-11-23: nothing was lost.\n",
		"| [backup](#backup) | 10 moments | 200 moments | 2,000 moments | 45 nightly, 2026-11-23 |\n",
		"\nNightly, 2026-11-23: part 1/12: one.\n",
		"1. **Acknowledged writes are on the disk.** ",
		"| [memory](#memory) | all ways | all ways | all ways | not counted |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestDue checks that the environment selects the column.
func TestDue(t *testing.T) {
	for _, c := range []struct {
		length string
		want   int
	}{{testenv.Run, 60}, {testenv.Long, 60}, {testenv.Nightly, 2_000}, {testenv.Release, 20_000}} {
		setenv(t, testenv.SetLength(c.length))
		want := c.want
		if racing && want == 60 {
			want = 6
		}
		if got := Amount(t, "kill"); got != want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// setenv sets an entry of the environment.
func setenv(t *testing.T, entry string) {
	name, value, _ := strings.Cut(entry, "=")
	t.Setenv(name, value)
}

// TestParts checks that the amounts of all parts of a row add up to the amount of the row.
func TestParts(t *testing.T) {
	setenv(t, testenv.SetLength(testenv.Nightly))
	sum, list, got := 0, []int{1, 2, 3, 4, 5}, []int(nil)
	for n := range 4 {
		outer, err := ParsePart([]string{"1/4", "2/4", "3/4", "4/4"}[n])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, Of(outer, list)...)
		for k := range 3 {
			setenv(t, outer.Split(k+1, 3).Variable())
			sum += Amount(t, "kill")
		}
	}
	if sum != 2_000 || !slices.Equal(got, list) {
		t.Errorf("together they have %d, and %v of a list", sum, got)
	}
	for _, text := range []string{"0/3", "4/3", "x", "1", "1/2/3", "-1/2", " 1/2"} {
		if p, err := ParsePart(text); err == nil {
			t.Errorf("%q is %v", text, p)
		}
	}
}
