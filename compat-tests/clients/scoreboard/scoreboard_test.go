package scoreboard

import (
	"maps"
	"os"
	"strings"
	"testing"
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
