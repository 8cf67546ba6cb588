// Package browser finds a Chromium for tests of pages. `./scripts/test --only=browser` installs one where
// there is none.
package browser

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cantledb/cantle/internal/testenv"
)

// names returns the names under which a Chromium is looked up, first the one of the environment if it is set.
func names() []string {
	return []string{testenv.Chromium(), "chromium", "chromium-browser", "google-chrome"}
}

// Location of a Chromium that was installed for the tests: Version is the version of the package, Folder lies
// below the root of the repository, Program is the executable in it.
const (
	Version = "147.0.0"
	Folder  = ".cache/chromium-" + Version
	Program = "chromium.sh"
)

// Missing is the reason with which a test is skipped if there is no browser.
const Missing = "no Chromium: run ./scripts/test --only=browser, or name one in CANTLE_CHROMIUM"

// Path returns the path of a Chromium, "" if there is none: the one of CANTLE_CHROMIUM, the machine's, or the
// one installed below root.
func Path(root string) string {
	for _, name := range names() {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if path, err := filepath.Abs(filepath.Join(root, Folder, Program)); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
