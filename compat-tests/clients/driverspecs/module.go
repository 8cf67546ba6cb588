package driverspecs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// The driver's module: the last version that carries the specification files.
const (
	driverModule  = "go.mongodb.org/mongo-driver"
	driverVersion = "v1.17.10"
	driverSum     = "h1:kdAgQvu8TROXZpSkJQd5wzfaNCCrMbpZyKFtQ6qkPCE="
)

// fetch downloads the source of the Go driver into the module cache, if it is missing there, and returns its folder.
func fetch(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", driverModule+"@"+driverVersion)
	cmd.Dir = t.TempDir() // outside of our module, which does not require this version
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fetching %s %s: %v\n%s%s", driverModule, driverVersion, err, out, problem.String())
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Sum != driverSum {
		t.Fatalf("%s %s has the sum %s, wanted %s", driverModule, driverVersion, got.Sum, driverSum)
	}
	return got.Dir
}

// compile builds the test program of a package of the Go driver, and returns the path of the program.
func compile(t *testing.T, dir, pkg string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(root, ".cache", "driverspecs")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, fmt.Sprintf("%s-%s.test", filepath.Base(pkg), driverVersion))
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	cmd := exec.Command("go", "test", "-mod=readonly", "-vet=off", "-c", "-o", temp, "./"+pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compiling %s: %v\n%s", pkg, err, out)
	}
	if err := os.Rename(temp, path); err != nil {
		t.Fatal(err)
	}
	return path
}
