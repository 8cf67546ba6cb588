package backup

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestCanary builds a program with a planted bug, a restore to one timestamp too late, and checks that the drill
// finds it.
func TestCanary(t *testing.T) {
	if !testenv.IsLong() {
		t.Skip("it builds a program of its own: CANTLE_LONG")
	}
	good, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	bad, err := harness.BuildPlanted("")
	if err != nil {
		t.Fatal(err)
	}
	l := newLife(t, good, 1)
	for range 40 {
		m := l.drawMoment()
		to := filepath.Join(t.TempDir(), "restored")
		restore := exec.Command(bad, "restore", "--from", l.to, "--at", m.String(), "--data", to)
		restore.Env = append(os.Environ(), harness.Planted+"=a second too much")
		if out, err := restore.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if why := l.wrong(good, to, m); why != "" {
			t.Logf("it was found out: %s", why)
			return
		}
	}
	t.Error("a program that restores too much was not found out")
}
