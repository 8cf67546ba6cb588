package pymongosuite

import "github.com/cantledb/cantle/compat-tests/clients/scoreboard"

// The driver, and the SHA-256 of its source distribution.
const (
	driverVersion = "4.20.0"
	driverSum     = "f773b0aec28687587cdeda490463a82debc4566a4a3620dcc8dada9d2c0a1acd"
)

// sdist is the name of the source distribution.
const sdist = "pymongo-" + driverVersion

// source describes the installation of PyMongo and its tests: the tests go into the folder test, Python into the
// folder venv.
var source = scoreboard.Source{
	Folder: "pymongosuite",
	Needs:  []string{"python3"},
	Check:  []string{"python3", "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"},
	Wants:  "PyMongo's tests need Python 3.11 or newer with venv and pip; Debian: apt install python3-venv",
	Files:  map[string]string{"sdist.txt": "pymongo==" + driverVersion + " --hash=sha256:" + driverSum + "\n"},
	Fetch: []string{
		"rm -rf venv sdist && python3 -m venv venv",
		"venv/bin/pip install -q --disable-pip-version-check 'pymongo[snappy,zstd]==" + driverVersion +
			"' pytest==9.2.0 pytest-timeout==2.4.0 pytest-asyncio==1.5.0",
		"venv/bin/pip download -q --disable-pip-version-check --require-hashes --no-deps --no-binary pymongo -d sdist -r sdist.txt",
	},
	Build: []string{"rm -rf test && tar xzf sdist/" + sdist + ".tar.gz --strip-components=1 " + sdist + "/test " + sdist + "/pyproject.toml"},
}
