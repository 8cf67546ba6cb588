package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cantledb/cantle/internal/testenv"
)

// Mongosh returns the path of the shell: CANTLE_MONGOSH, what ./scripts/test has
// installed, or the one in the PATH. Without any the test fails, or is skipped if
// CANTLE_MONGOSH is "none".
func Mongosh(tb testing.TB) string {
	tb.Helper()
	named, needed := testenv.Mongosh()
	if named != "" {
		return named
	}
	root, err := Root()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(root, ".cache", "mongosh", "node_modules", ".bin", "mongosh")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if path, err := exec.LookPath("mongosh"); err == nil {
		return path
	}
	if !needed {
		tb.Skip("mongosh is not installed, and CANTLE_MONGOSH=none goes without")
	}
	tb.Fatal("mongosh is not installed: run ./scripts/test --only=mongosh (needs Node and npm), " +
		"or set CANTLE_MONGOSH to its path, or to none to go without")
	return ""
}

// MongoshHome makes a home directory for a shell in dir: no user settings, and nothing
// reported to anyone.
func MongoshHome(tb testing.TB, dir string) {
	tb.Helper()
	config := filepath.Join(dir, ".mongodb", "mongosh", "config")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(`{"enableTelemetry":false,"disableLogging":true,"updateURL":""}`), 0o644); err != nil {
		tb.Fatal(err)
	}
}
