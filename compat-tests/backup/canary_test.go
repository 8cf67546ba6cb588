package backup

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// TestCanary builds a program that makes one second too much again, and wants the drill to find
// that out.
func TestCanary(t *testing.T) {
	if os.Getenv("CANTLE_LONG") == "" {
		t.Skip("it builds a program of its own: CANTLE_LONG")
	}
	good, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(root, "storage", "backup", "restore.go")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(source), "w.Time > p.At:", "w.Time > p.At+1:", 1)
	if changed == string(source) {
		t.Fatalf("%s is not what it was: plant the bug elsewhere", file)
	}
	bug := filepath.Join(dir, "restore.go")
	overlay, _ := json.Marshal(map[string]map[string]string{"Replace": {file: bug}})
	for path, text := range map[string]string{bug: changed, filepath.Join(dir, "overlay.json"): string(overlay)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bad := filepath.Join(dir, "cantle")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bad, "./cmd/cantle")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l := newLife(t, good, 1)
	for range 40 {
		m := l.drawMoment()
		to := filepath.Join(t.TempDir(), "restored")
		if out, err := exec.Command(bad, "restore", "--from", l.to, "--at", m.String(), "--data", to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if why := l.wrong(good, to, m); why != "" {
			t.Logf("it was found out: %s", why)
			return
		}
	}
	t.Error("a program that restores too much was not found out")
}
