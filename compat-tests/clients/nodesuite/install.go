package nodesuite

import "github.com/cantledb/cantle/compat-tests/clients/scoreboard"

// repository is the driver's repository, and commit the commit whose tests run. git fetches a commit by its hash, and
// so verifies its content.
const (
	repository = "https://github.com/mongodb/node-mongodb-native.git"
	commit     = "bb35ded18aa1031d8e4be88cad4fc1cc1225b00e" // some commits after 7.5.0
)

// source installs the driver and its tests.
var source = scoreboard.Source{
	Folder: "nodesuite",
	Needs:  []string{"git", "npm", "node"},
	Check:  []string{"node", "-e", "const [a, b] = process.versions.node.split('.').map(Number); process.exit(a > 20 || a === 20 && b >= 19 ? 0 : 1)"},
	Wants:  "the Node driver's tests need Node 20.19 or newer",
	Fetch: []string{
		"rm -rf driver && git init -q driver && git -C driver sparse-checkout set --no-cone " +
			"/package.json /package-lock.json /tsconfig.json /global.d.ts /LICENSE.md /src/ /etc/ /test/ '!/test/benchmarks/'",
		"cd driver && git fetch -q --depth 1 --filter=blob:none " + repository + " " + commit,
		"cd driver && git remote add origin " + repository + " && git config remote.origin.promisor true && git checkout -q " + commit,
		"cd driver && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error",
	},
	Build: []string{"cd driver && npm run -s build:runtime-barrel"},
	Tests: "driver",
}
