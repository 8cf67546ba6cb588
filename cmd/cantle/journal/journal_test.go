package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInterrupted checks that a journal whose last line an interruption cut off goes on behind its complete lines: the
// rest of the line must not become a part of the next number.
func TestInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(path, []byte("100 shop.a\n200 shop.b\n12"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, path)
	if a, b := j.At("shop.a"), j.At("shop.b"); a != 100 || b != 200 {
		t.Errorf("%d and %d documents are done, want 100 and 200", a, b)
	}
	if err := j.Set("shop.a", 3400); err != nil {
		t.Fatal(err)
	}
	j.Close()
	j = open(t, path)
	defer j.Close()
	if a, b := j.At("shop.a"), j.At("shop.b"); a != 3400 || b != 200 {
		t.Errorf("after the next run %d and %d documents are done, want 3400 and 200", a, b)
	}
}

// TestForeign checks that a file of something else is refused and stays as it is.
func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	for _, text := range []string{"name,age\nx,1", "name,age\n", "a note"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil {
			t.Errorf("%q is taken for a journal", text)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("the file %q is now %q, %v", text, b, err)
		}
	}
}

func open(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
