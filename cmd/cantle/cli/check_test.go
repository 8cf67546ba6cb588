package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The exit status of cantle check: 0 without findings, 1 with findings, 2 without a database.
func TestCheckStatus(t *testing.T) {
	data := t.TempDir()
	verb := func(args ...string) (string, int) {
		var out bytes.Buffer
		status := Run(context.Background(), append([]string{"check"}, args...), Streams{Out: &out, Err: &out}, nil)
		return out.String(), status
	}
	if out, status := verb("--data", data); status != 2 || !strings.Contains(out, "no database") {
		t.Errorf("no database: %d %s", status, out)
	}
	if err := os.MkdirAll(filepath.Join(data, "store"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, status := verb("--data", data); status != 0 || !strings.Contains(out, "0 findings") {
		t.Errorf("an empty folder: %d %s", status, out)
	}
	if err := os.WriteFile(filepath.Join(data, "store", "LOCK"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := verb("--data", data); status != 1 || !strings.Contains(out, "has had a database and has lost it") {
		t.Errorf("only LOCK: %d %s", status, out)
	}
	if err := os.Rename(filepath.Join(data, "store"), filepath.Join(data, "store-unfinished")); err != nil {
		t.Fatal(err)
	}
	if out, status := verb("--data", data); status != 1 || !strings.Contains(out, "an unfinished or running restore") {
		t.Errorf("half a restore: %d %s", status, out)
	}
	if err := os.Rename(filepath.Join(data, "store-unfinished"), filepath.Join(data, "store")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "store", "000004.sst"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := verb("--data", data, "--json"); status != 1 || !strings.Contains(out, `"valid":false`) {
		t.Errorf("a table without a list: %d %s", status, out)
	}
}
