package damage

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestCanary builds a server with a planted bug, it does not compare the checksums of blocks, and checks that the
// queries of this package find wrong results.
func TestCanary(t *testing.T) {
	if !testenv.IsLong() {
		t.Skip("it builds a server of its own: CANTLE_LONG")
	}
	good, err := harness.Build("")
	if err != nil {
		t.Fatal(err)
	}
	bad := withoutChecksums(t)
	m := makeFolder(t, good, false)
	wrong := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 9))
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
			t.Fatal(err)
		}
		// A table that no compaction has written is not compressed, so a flipped bit of the file is a flipped bit
		// of a document.
		tables, _ := filepath.Glob(filepath.Join(dir, "store", "*.sst"))
		path := tables[rng.IntN(len(tables))]
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			b[rng.IntN(len(b)*9/10)] ^= 1 << rng.IntN(3)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := serve(t, bad, dir)
		if s.uri == "" {
			continue
		}
		readEverything(t, s, m, false, rng, func(string, ...any) { wrong++ })
		_ = s.cmd.Process.Kill()
		<-s.done
		if wrong > 0 {
			t.Logf("seed %d: %d wrong answers were seen", seed, wrong)
			return
		}
	}
	t.Error("a server without checksums was not found out")
}

// withoutChecksums builds the server with the bug.
func withoutChecksums(t *testing.T) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cockroachdb/pebble/v2")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	// The go.work in a temporary folder replaces the storage library by a copy with the bug.
	dir := t.TempDir()
	engine, bin := filepath.Join(dir, "engine"), filepath.Join(dir, "cantle")
	if err := os.CopyFS(engine, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(engine, "sstable", "block", "block.go")
	rewrite(t, file, file, func(source string) string {
		return strings.Replace(source, "if expectedChecksum != computedChecksum {", "if false {", 1)
	})
	rewrite(t, filepath.Join(root, "go.work"), filepath.Join(dir, "go.work"), func(text string) string {
		text = strings.NewReplacer("\t.\n", "\t"+root+"\n", "./", root+"/").Replace(text)
		return text + "\nreplace github.com/cockroachdb/pebble/v2 => " + engine + "\n"
	})
	sums, err := os.ReadFile(filepath.Join(root, "go.work.sum"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.work.sum"), sums, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/cantle")
	build.Dir, build.Env = root, append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// rewrite changes a text.
func rewrite(t *testing.T, from, to string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	changed := change(string(text))
	if changed == string(text) {
		t.Fatalf("%s is not what it was: plant the bug elsewhere", from)
	}
	_ = os.Chmod(to, 0o600)
	if err := os.WriteFile(to, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}
