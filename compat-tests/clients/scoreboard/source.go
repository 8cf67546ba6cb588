package scoreboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Source describes how a driver and its tests are installed, in a folder below .cache.
type Source struct {
	Folder string
	Needs  []string          // programs that must be installed
	Check  []string          // a program with arguments; its exit status is 0 if the installed versions are sufficient
	Wants  string            // the message if Check fails
	Files  map[string]string // written into the folder before Fetch
	Fetch  []string          // shell commands that download, see harness.Install
	Build  []string          // shell commands after them
	Tests  string            // the folder of the tests, below Folder; "" for Folder itself
}

// Missing returns a message about a prerequisite that this machine lacks, "" if it has all.
func (s Source) Missing() string {
	needs := harness.Program{Needs: s.Needs}
	if name := needs.Missing(); name != "" {
		return name + " is not installed"
	}
	if exec.Command(s.Check[0], s.Check[1:]...).Run() != nil {
		return s.Wants
	}
	return ""
}

// Ready installs the driver and its tests for a test, and returns the folder of the tests. It skips the test if a
// prerequisite is missing or the download fails.
func (s Source) Ready(t *testing.T) (dir string) {
	t.Helper()
	if what := s.Missing(); what != "" {
		t.Skip(what)
	}
	dir, err := s.Install(t.Context())
	if errors.Is(err, harness.ErrFetch) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Install installs the driver and its tests, unless an earlier run did, and returns the folder of the tests.
// Errors: errors of the file system, and those of harness.Install.
func (s Source) Install(ctx context.Context) (dir string, err error) {
	root, err := harness.Root()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(root, ".cache", s.Folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for name, text := range s.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, s.Tests), harness.Install(ctx, dir, fmt.Sprint(s.Files, s.Fetch, s.Build), s.Fetch, s.Build)
}
