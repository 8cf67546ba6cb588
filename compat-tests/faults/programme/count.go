package programme

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/internal/testenv"
)

// Columns of the programme.
const (
	Run     = "run"
	Nightly = "nightly"
	Release = "release"
)

// Column is the one that is due in this run.
func Column() string {
	switch testenv.Length() {
	case testenv.Nightly:
		return Nightly
	case testenv.Release:
		return Release
	}
	return Run
}

// Due is how much of a row is due in this run, or in this part of it (see Part), 0 for as much
// as there is. With the race detector a run is a tenth of the usual one.
func Due(tb testing.TB, row string) int {
	tb.Helper()
	r, ok := find(row)
	if !ok {
		tb.Fatalf("there is no row %s in compat-tests/faults/programme", row)
	}
	due := r.due(Column())
	if racing && Column() == Run && due > 0 {
		due = (due + 9) / 10
	}
	part, err := thisPart()
	if err != nil {
		tb.Fatal(err)
	}
	return part.of(due)
}

// Result is what one test of a row did.
type Result struct {
	Row, Test, Column string
	// Part says which part of the column it is, as "2/8"; "" is all of it.
	Part   string `json:",omitempty"`
	Count  int
	Failed bool
	// Detail is a sentence about it: what became of the faults.
	Detail string
	// Seed is the first of its random seeds, 0 if it has none.
	Seed uint64
	At   time.Time
	Took time.Duration
}

// Tell says, when the test ends, how much of a row it did. count and detail are asked then.
// What is done with CANTLE_STORAGE is not counted: rows are of files.
func Tell(tb testing.TB, row string, seed uint64, count func() (n int, detail string)) {
	tb.Helper()
	known, ok := find(row)
	if !ok {
		tb.Fatalf("there is no row %s in compat-tests/faults/programme", row)
	}
	begun := time.Now()
	tb.Cleanup(func() {
		n, detail := count()
		part := testenv.Part()
		if known.due(Column()) == 0 { // every part does as much as there is
			part = ""
		}
		r := Result{Row: row, Test: tb.Name(), Column: Column(), Part: part, Count: n, Failed: tb.Failed(), Detail: detail, Seed: seed, At: begun, Took: time.Since(begun)}
		tb.Logf("%s: %s", row, r.String())
		if racing || tb.Skipped() || testenv.Storage() != "" || os.Getenv("PLANTED_BUG") != "" { // of a canary
			return
		}
		if err := Record(r); err != nil {
			tb.Log(err)
		}
	})
}

// None says for a detail that a test which fails where it finds one has found none of
// something.
func None(tb testing.TB, of string) string {
	if tb.Failed() {
		return "some " + of
	}
	return "0 " + of
}

// String is the result in a line.
func (r Result) String() string {
	out := fmt.Sprintf("%s %d", r.Test, r.Count)
	if row, ok := find(r.Row); ok {
		out += " " + row.Unit
	}
	if r.Part != "" {
		out += ", part " + r.Part
	}
	if r.Failed {
		out += ", FAILED"
	}
	if r.Seed != 0 {
		out += fmt.Sprintf(", seed %d", r.Seed)
	}
	out += " in " + r.Took.Round(time.Millisecond).String()
	if r.Detail != "" {
		out += ": " + r.Detail
	}
	return out
}

// folder is where results are kept, from the root of the repository.
const folder = ".cache/faults"

// root is the folder of the repository: the one above with go.work.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		} else if dir == filepath.Dir(dir) {
			return "", errors.New("there is no go.work in any folder above")
		}
	}
}

// Record keeps a result in the place of an earlier one of the same test, column and part: a
// part also in that of all and of what was divided otherwise, and all in that of parts.
func Record(r Result) error {
	dir, err := root()
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	kept, err := Results()
	if err != nil {
		return err
	}
	for _, old := range kept {
		if old.replacedBy(r) {
			if err := os.Remove(filepath.Join(dir, old.file())); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	path := filepath.Join(dir, r.file())
	writing := fmt.Sprintf("%s.%d", path, os.Getpid()) // parts may be recorded at the same time
	if err := os.WriteFile(writing, b, 0o644); err != nil {
		return err
	}
	return os.Rename(writing, path)
}

// file is the name of the file that keeps a result.
func (r Result) file() string {
	name := r.Row + "." + r.Test + "." + r.Column
	if r.Part != "" {
		name += "." + strings.Replace(r.Part, "/", "of", 1)
	}
	return strings.NewReplacer("/", "_", " ", "_").Replace(name) + ".json"
}

// replacedBy reports whether the new result makes this one obsolete.
func (r Result) replacedBy(n Result) bool {
	_, before, _ := strings.Cut(r.Part, "/")
	_, now, _ := strings.Cut(n.Part, "/")
	return r.Row == n.Row && r.Test == n.Test && r.Column == n.Column && (r.Part == n.Part || before != now)
}

// Results are those that are kept, in the order of Rows. Errors: what the disk says.
func Results() (out []Result, err error) {
	dir, err := root()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, folder, "*.json")) // sorted
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, path := range files {
		var r Result
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, r)
	}
	for _, row := range Rows {
		for _, r := range all {
			if r.Row == row.Name {
				out = append(out, r)
			}
		}
	}
	return out, nil
}
