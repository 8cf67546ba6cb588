// Package browser finds the Chromium with which tests look at pages. `./scripts/test
// --only=browser` installs one where there is none.
package browser

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cantledb/cantle/internal/testenv"
)

// names are what a Chromium is called, the first of the environment if it names one.
func names() []string {
	return []string{testenv.Chromium(), "chromium", "chromium-browser", "google-chrome"}
}

// Where one is installed that is none of the machine's: Version is that of the package, Folder
// lies below the root of the repository, Program is what is started there.
const (
	Version = "147.0.0"
	Folder  = ".cache/chromium-" + Version
	Program = "chromium.sh"
)

// Missing is why a test is skipped that finds no browser.
const Missing = "no Chromium: run ./scripts/test --only=browser, or name one in CANTLE_CHROMIUM"

// Path returns the path of a Chromium, "" without one: what CANTLE_CHROMIUM names, the
// machine's, or what was installed below root.
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
