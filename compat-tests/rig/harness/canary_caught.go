package harness

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/testenv"
)

// Caught runs a test of the same package again, against a server with a planted bug. The test must fail, with one of
// the signs in its output. Caught builds a server of its own, so it is skipped unless the run is long (CANTLE_LONG).
func Caught(t *testing.T, bug, test string, signs ...string) {
	t.Helper()
	if !testenv.IsLong() {
		t.Skip("it builds a server of its own: CANTLE_LONG")
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$")
	again.Env = append(os.Environ(), Planted+"="+bug, testenv.SetLength(testenv.Long))
	said, err := again.CombinedOutput()
	if err == nil {
		t.Fatalf("%s did not notice: %s", test, bug)
	}
	for line := range strings.Lines(string(said)) {
		for _, sign := range signs {
			if strings.Contains(line, sign) {
				t.Logf("found: %.300s", strings.TrimSpace(line))
				return
			}
		}
	}
	t.Fatalf("%s failed, but not by %q (%s):\n%.4000s", test, signs, bug, said)
}
