package pymongosuite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// The driver, and the SHA-256 of its source distribution.
const (
	driverVersion = "4.20.0"
	driverSum     = "f773b0aec28687587cdeda490463a82debc4566a4a3620dcc8dada9d2c0a1acd"
)

// pythonCheck is a program whose exit status is 0 if Python is new enough for the driver, and has venv and
// pip.
const pythonCheck = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"

// missing returns a message about a missing prerequisite, "" if there is none.
func missing() string {
	if _, err := exec.LookPath("python3"); err != nil {
		return "python3 is not installed"
	}
	if exec.Command("python3", "-c", pythonCheck).Run() != nil {
		return "PyMongo's tests need Python 3.11 or newer with venv and pip; Debian: apt install python3-venv"
	}
	return ""
}

// install installs the driver and its tests and returns their folder: the tests in test, Python in venv.
// Errors: as harness.Install.
func install(ctx context.Context) (dir string, err error) {
	root, err := harness.Root()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(root, ".cache", "pymongosuite")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	sdist := "pymongo-" + driverVersion
	requirement := fmt.Sprintf("pymongo==%s --hash=sha256:%s\n", driverVersion, driverSum)
	if err := os.WriteFile(filepath.Join(dir, "sdist.txt"), []byte(requirement), 0o644); err != nil {
		return "", err
	}
	fetch := []string{
		"rm -rf venv sdist && python3 -m venv venv",
		"venv/bin/pip install -q --disable-pip-version-check 'pymongo[snappy,zstd]==" + driverVersion +
			"' pytest==9.2.0 pytest-timeout==2.4.0 pytest-asyncio==1.5.0",
		"venv/bin/pip download -q --disable-pip-version-check --require-hashes --no-deps --no-binary pymongo -d sdist -r sdist.txt",
	}
	build := []string{"rm -rf test && tar xzf sdist/" + sdist + ".tar.gz --strip-components=1 " + sdist + "/test " + sdist + "/pyproject.toml"}
	return dir, harness.Install(ctx, dir, fmt.Sprint(requirement, fetch, build), fetch, build)
}
