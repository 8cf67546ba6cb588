package programs

import (
	"strings"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// kinds describe the installation from each registry: the sources go into the folder src.
var kinds = map[string]func(p program) scoreboard.Source{"pypi": pypi, "npm": npm}

// released is the day whose newest packages npm installs for version ranges, so that each run installs the same.
const released = "2026-11-28"

func pypi(p program) scoreboard.Source {
	return scoreboard.Source{
		Needs: []string{"python3"},
		Check: []string{"python3", "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"},
		Wants: "these tests need Python 3.11 or newer with venv and pip; Debian: apt install python3-venv",
		Fetch: []string{
			"rm -rf venv sdist && python3 -m venv venv",
			"venv/bin/pip install -q --disable-pip-version-check pytest==8.4.2 pytest-timeout==2.4.0 '" + strings.Join(append([]string{p.pkg + "==" + p.version}, p.install...), "' '") + "'",
			"venv/bin/pip download -q --disable-pip-version-check --no-deps --no-binary " + p.pkg + " -d sdist '" + p.pkg + "==" + p.version + "'",
		},
		Build: []string{"rm -rf src && mkdir src && tar xzf sdist/*.tar.gz -C src --strip-components=1"},
	}
}

func npm(p program) scoreboard.Source {
	install := "npm install --ignore-scripts --no-audit --no-fund --no-package-lock --legacy-peer-deps --loglevel=error --before=" + released
	fetch := []string{"rm -rf src && mkdir src && tar xzf $(npm pack --silent " + p.pkg + "@" + p.version + ") -C src --strip-components=1"}
	if p.adopt {
		fetch = append(fetch, "npm pack --silent ../../../packaging/npm/cantle ../../../packaging/npm/memory-server",
			"cd src && npm pkg set overrides.cantle=file:../cantle-0.0.0-unreleased.tgz && "+
				"node ../../../../packaging/npm/memory-server/cli.js adopt --yes --package file:../cantle-memory-server-0.0.0-unreleased.tgz")
	}
	fetch = append(fetch, "cd src && "+install)
	if len(p.install) > 0 {
		fetch = append(fetch, "cd src && "+install+" --save-dev "+strings.Join(p.install, " "))
	}
	return scoreboard.Source{
		Needs: []string{"npm", "node"},
		Check: []string{"node", "-e", "process.exit(Number(process.versions.node.split('.')[0]) >= 20 ? 0 : 1)"},
		Wants: "these tests need Node 20 or newer",
		Fetch: fetch,
	}
}
