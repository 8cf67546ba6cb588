//go:build unix

package expr

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cantledb/cantle/collection/mql"
)

// A comment at the end of a script refers to a source map file, which must not be read: opening this file would
// wait for a writer that never comes.
func TestCompileReadsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"var a = 1; return a\n//# sourceMappingURL=" + pipe, "function() { return 1 }\n//# sourceMappingURL=" + pipe} {
		if _, err := CompileScript(mql.NewEnv(t.Context()), source); err != nil {
			t.Error(err)
		}
	}
}
