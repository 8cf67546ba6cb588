package scoreboard

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

// TestFile checks that a written file can be read.
func TestFile(t *testing.T) {
	path := t.TempDir() + "/scoreboard.txt"
	b := New()
	b.Rows["a"], b.Rows["b"] = Counts{1, 2, 3}, Counts{4, 5, 6}
	b.Known["TestA/x.json/a_b"] = "why: because"
	b.Known["file.py::C::new"] = ""
	if err := b.Write(path, "# Head.\n", []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got.Rows, b.Rows) || !maps.Equal(got.Known, b.Known) {
		t.Errorf("read %+v", got)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.HasPrefix(s, "# Head.\n") || strings.Index(s, "\nb ") > strings.Index(s, "\na ") {
		t.Errorf("wrote\n%s", s)
	}
}

// TestReadErrors checks that an invalid line is refused.
func TestReadErrors(t *testing.T) {
	path := t.TempDir() + "/scoreboard.txt"
	if err := os.WriteFile(path, []byte("suite 1 two 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "scoreboard.txt:1") {
		t.Errorf("got %v", err)
	}
}

// TestRunner checks the conditions under which a run counts as complete: there is a report, and the program's exit
// status is 0 or one of Statuses, if there are any.
func TestRunner(t *testing.T) {
	for _, c := range []struct {
		script   string
		statuses []int
		fails    string
	}{
		{"echo a > $0; exit 7", nil, ""},
		{"echo a > $0", []int{1}, ""},
		{"echo a > $0; exit 1", []int{1}, ""},
		{"echo a > $0; echo usage; exit 2", []int{1}, "exit status 2\nusage"},
		{"exit 0", nil, "no such file"},
		{": > $0", nil, "the program ran no tests"},
	} {
		r := Runner{Name: "the program", Limit: time.Minute, Dir: t.TempDir(), Program: "sh", Statuses: c.statuses,
			Args: func(report, only string) []string { return []string{"-c", c.script, report} },
			Parse: func(report []byte) (Results, error) {
				results := Results{}
				for _, name := range strings.Fields(string(report)) {
					results.Add(name, Passed)
				}
				return results, nil
			}}
		results, err := r.Run(t.Context(), "")
		if c.fails == "" && (err != nil || results["a"].Outcome != Passed) || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%q: %v, %v", c.script, results, err)
		}
	}
}
