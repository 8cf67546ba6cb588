package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/cantledb/cantle/internal/testenv"
)

// Root returns the directory of the repository: the nearest parent with a go.work.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.work in this directory or above it")
		}
		dir = parent
	}
}

// Binary returns the path of the server's executable: that of CANTLE_BINARY, if it is set and Planted is not. Otherwise
// Build makes one, once per process, with the build tags of the tests: none, as in a release, or "invariants".
var Binary = sync.OnceValues(func() (string, error) {
	if path := testenv.Binary(); path != "" && os.Getenv(Planted) == "" {
		return path, nil
	}
	return Build(testedTags)
})

// Build compiles ./cmd/cantle with the given build tags, and with all planted bugs if Planted is set, into the
// git-ignored directory .cache/bin of the repository and returns the executable's path.
func Build(tags string) (string, error) {
	if os.Getenv(Planted) != "" {
		return BuildPlanted(tags)
	}
	return build(tagged("cantle", tags), tags, "./cmd/cantle")
}

// tagged returns the name of a program that is built with tags.
func tagged(name, tags string) string {
	if tags != "" {
		name += "-" + tags
	}
	return name
}

// build compiles a program of the repository into .cache/bin. Processes that build at the same
// time do not disturb each other: each renames a whole file into place.
func build(name, tags, program string, flags ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	cmd := exec.Command("go", append(append([]string{"build", "-tags", tags, "-o", temp}, flags...), program)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", program, err, out)
	}
	return path, os.Rename(temp, path)
}
