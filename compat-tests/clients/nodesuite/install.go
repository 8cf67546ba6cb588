package nodesuite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// The driver's repository, and the commit whose tests run. git fetches the commit by its hash, and so
// verifies it.
const (
	repository = "https://github.com/mongodb/node-mongodb-native.git"
	commit     = "bb35ded18aa1031d8e4be88cad4fc1cc1225b00e" // some commits after 7.5.0
)

// nodeCheck is a program whose exit status is 0 if Node is new enough for the driver.
const nodeCheck = "const [a, b] = process.versions.node.split('.').map(Number); process.exit(a > 20 || a === 20 && b >= 19 ? 0 : 1)"

// missing returns a message about a missing prerequisite, "" if there is none.
func missing() string {
	for _, program := range []string{"git", "npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	if exec.Command("node", "-e", nodeCheck).Run() != nil {
		return "the Node driver's tests need Node 20.19 or newer"
	}
	return ""
}

// install installs the driver and its tests and returns their folder. Errors: as harness.Install.
func install(ctx context.Context) (dir string, err error) {
	root, err := harness.Root()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(root, ".cache", "nodesuite")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fetch := []string{
		"rm -rf driver && git init -q driver && git -C driver sparse-checkout set --no-cone " +
			"/package.json /package-lock.json /tsconfig.json /global.d.ts /LICENSE.md /src/ /etc/ /test/ '!/test/benchmarks/'",
		"cd driver && git fetch -q --depth 1 --filter=blob:none " + repository + " " + commit,
		"cd driver && git remote add origin " + repository + " && git config remote.origin.promisor true && git checkout -q " + commit,
		"cd driver && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error",
	}
	build := []string{"cd driver && npm run -s build:runtime-barrel"}
	return filepath.Join(dir, "driver"), harness.Install(ctx, dir, fmt.Sprint(fetch, build), fetch, build)
}
