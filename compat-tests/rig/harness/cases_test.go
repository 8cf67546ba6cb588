package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilesAreIndependent checks that server-wide settings of one case file, and the transaction numbers of
// its sessions, do not reach the next file.
func TestFilesAreIndependent(t *testing.T) {
	dir := t.TempDir()
	const session = `lsid: {id: UUID("00000000-0000-4000-8000-0000000000aa")}`
	for name, text := range map[string]string{
		"a.txt": "run\n{setParameter: 1, ttlMonitorSleepSecs: 7, $db: \"admin\"}\n{insert: \"c\", documents: [{}], " + session +
			", txnNumber: NumberLong(9)}\n----\n{\"was\":60,\"ok\":1.0}\n{\"n\":1,\"ok\":1.0}\n",
		"b.txt": "run\n{getParameter: 1, ttlMonitorSleepSecs: 1, $db: \"admin\"}\n{insert: \"c\", documents: [{}], " + session +
			", txnNumber: NumberLong(1)}\n----\n{\"ttlMonitorSleepSecs\":60,\"ok\":1.0}\n{\"n\":1,\"ok\":1.0}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	RunCases(t, dir, &Config{Name: "memory"})
}
