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

// Column returns the column of FAULTS.md whose amounts this test run has to do: each run, nightly or release.
func Column() string {
	switch testenv.Length() {
	case testenv.Nightly:
		return Nightly
	case testenv.Release:
		return Release
	}
	return Run
}

// Amount returns how many faults of a row this run has to do, or this part of it (see Part); 0 means as many as
// there are. In the column of each run, with the race detector, it is a tenth, rounded up.
func Amount(tb testing.TB, row string) int {
	tb.Helper()
	r, ok := find(row)
	if !ok {
		tb.Fatalf("there is no row %s in compat-tests/faults/programme", row)
	}
	due := r.amount(Column())
	if racing && Column() == Run && due > 0 {
		due = (due + 9) / 10
	}
	part, err := thisPart()
	if err != nil {
		tb.Fatal(err)
	}
	return part.of(due)
}

// Result is the outcome of one test of a row of the fault programme, as stored in a file.
type Result struct {
	Row, Test, Column string
	// Part is the part of the column that the test did, for example "2/8"; "" is all of it.
	Part   string `json:",omitempty"`
	Count  int
	Failed bool
	// Detail is a sentence for the report about the outcomes of the faults.
	Detail string
	// Seed is the first random seed, 0 if there is none.
	Seed uint64
	At   time.Time
	Took time.Duration
}

// RecordAtEnd stores a Result when the test ends: how many faults of a row it did, which count returns then. It
// stores none for a skipped test, with the race detector, with a planted bug, or with CANTLE_STORAGE, because rows
// are about files.
func RecordAtEnd(tb testing.TB, row string, seed uint64, count func() (n int, detail string)) {
	tb.Helper()
	known, ok := find(row)
	if !ok {
		tb.Fatalf("there is no row %s in compat-tests/faults/programme", row)
	}
	begun := time.Now()
	tb.Cleanup(func() {
		n, detail := count()
		part := testenv.Part()
		if known.amount(Column()) == 0 { // each part does all faults of such a row
			part = ""
		}
		r := Result{Row: row, Test: tb.Name(), Column: Column(), Part: part, Count: n, Failed: tb.Failed(), Detail: detail, Seed: seed, At: begun, Took: time.Since(begun)}
		tb.Logf("%s: %s", row, r.String())
		if racing || tb.Skipped() || testenv.Storage() != "" || os.Getenv("PLANTED_BUG") != "" { // the last for a canary
			return
		}
		if err := Record(r); err != nil {
			tb.Log(err)
		}
	})
}

// None returns the Detail of a test that fails if it finds something, such as lost writes: "0 lost writes", or
// "some lost writes" if the test has failed.
func None(tb testing.TB, of string) string {
	if tb.Failed() {
		return "some " + of
	}
	return "0 " + of
}

// String returns the result as one line.
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

// folder is the path of the stored results, relative to the root of the repository.
const folder = ".cache/faults"

// root returns the root folder of the repository: the nearest one upwards with a go.work.
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

// Record stores a result in a file and deletes the results that it replaces: those of the same test and column
// with the same part, or with another division into parts.
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
	writing := fmt.Sprintf("%s.%d", path, os.Getpid()) // a temporary name of this process: parts may be recorded at the same time
	if err := os.WriteFile(writing, b, 0o644); err != nil {
		return err
	}
	return os.Rename(writing, path)
}

// file returns the name of the file in which a result is stored.
func (r Result) file() string {
	name := r.Row + "." + r.Test + "." + r.Column
	if r.Part != "" {
		name += "." + strings.Replace(r.Part, "/", "of", 1)
	}
	return strings.NewReplacer("/", "_", " ", "_").Replace(name) + ".json"
}

// replacedBy reports whether the new result n of the same test replaces this stored one: it is of the same part,
// or of another division into parts.
func (r Result) replacedBy(n Result) bool {
	_, before, _ := strings.Cut(r.Part, "/")
	_, now, _ := strings.Cut(n.Part, "/")
	return r.Row == n.Row && r.Test == n.Test && r.Column == n.Column && (r.Part == n.Part || before != now)
}

// Results returns the stored results of all Rows, in their order. Errors: errors of reading files.
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
