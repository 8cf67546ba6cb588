package daemon

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// groupBytes returns the least memory limit of the control groups around the process, with cgroup v1 and v2.
func TestGroupBytes(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	groups := write("groups", "12:memory:/a/b\n5:cpu:/elsewhere\n0::/c/d\n")
	for _, step := range []struct {
		file, text string
		want       int64
	}{
		{"memory/memory.limit_in_bytes", "9223372036854771712\n", 9223372036854771712},
		{"memory.max", "max\n", 9223372036854771712},
		{"c/memory.max", "3000\n", 3000},
		{"c/d/memory.max", "max\n", 3000},
		{"memory/a/b/memory.limit_in_bytes", "2000\n", 2000},
		{"memory/elsewhere/memory.limit_in_bytes", "1\n", 2000},
		{"memory/a/memory.limit_in_bytes", "1000\n", 1000},
		{"memory.max", "500\n", 500}, // as a container sees it
	} {
		write(step.file, step.text)
		if got := groupBytes(groups, root); got != step.want {
			t.Errorf("%s = %q: %d bytes, want %d", step.file, step.text, got, step.want)
		}
	}
	if got := groupBytes(filepath.Join(root, "none"), filepath.Join(root, "nothing")); got != math.MaxInt64 {
		t.Errorf("without groups: %d", got)
	}
}
