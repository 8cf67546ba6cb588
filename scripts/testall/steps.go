package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/internal/testenv"
)

// testTags are set for all tests: invariants turns on the costly self-checks.
const testTags = "invariants"

// mongoshDir is the folder into which mongosh is installed. Because of the leading dot, the Go tool ignores it.
const mongoshDir = ".cache/mongosh"

// installMongosh installs the version named in compat-tests/behaviour/mongosh/package.json.
func (r *run) installMongosh() error {
	wanted, err := os.ReadFile("compat-tests/behaviour/mongosh/package.json")
	if err != nil {
		return err
	}
	copied := filepath.Join(mongoshDir, "package.json")
	have, _ := os.ReadFile(copied)
	_, missing := os.Stat(filepath.Join(mongoshDir, "node_modules", ".bin", "mongosh"))
	if missing == nil && bytes.Equal(have, wanted) {
		fmt.Fprintln(r.out, "mongosh is installed")
		return nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return lacking("Node 20 or newer and npm")
	}
	if err := os.MkdirAll(mongoshDir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(copied, wanted, 0o644); err != nil {
		return err
	}
	// There is no lock file, because that would record the origin of each package; the version in package.json is
	// exact. Install scripts of packages are not run: they would compile C++ parts that the shell does not need.
	install := []string{"install", "--prefix", mongoshDir, "--no-package-lock", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--loglevel=error"}
	if err = r.output("npm", install...); err != nil && r.ctx.Err() == nil {
		fmt.Fprintln(r.out, "again, with a new look at the registry: npm may have kept a list of versions that is out of date")
		err = r.output("npm", append(install, "--prefer-online")...)
	}
	if err != nil {
		_ = os.Remove(copied) // so that the next run tries again
		return fmt.Errorf("npm install: %w", err)
	}
	return nil
}

// testedBinary is the server with the tag, for the end-to-end tests.
const testedBinary = ".cache/bin/cantle-tested"

// build is the step that compiles everything, and the server that the end-to-end tests start. It uses the build tag
// of the tests, as nearly all tests do, so that little is compiled twice.
func (r *run) build() error {
	fmt.Fprintln(r.out, "compiling Cantle and its libraries: a minute or two on a fast machine the first time, ten on a slow one, seconds later on")
	begun := time.Now()
	if err := os.MkdirAll(".cache/bin", 0o755); err != nil {
		return err
	}
	if err := r.output("go", "build", "-tags", testTags, "-o", testedBinary, "./cmd/cantle"); err != nil {
		return err
	}
	if err := r.output("go", "build", "-tags", testTags, everything); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "compiled in %s; ./scripts/run builds the program without the self-checks of tests, .cache/bin/cantle, and starts it\n", time.Since(begun).Round(time.Second))
	return nil
}

// use makes the tests of later commands start the server at a path, if the file exists.
func (r *run) use(binary string) {
	if path, err := filepath.Abs(binary); err == nil {
		if _, err := os.Stat(path); err == nil {
			r.env = append(r.env, "CANTLE_BINARY="+path)
		}
	}
}

// useLength sets the length of the tests (CANTLE_LONG) to Long if the run has the flag --long; otherwise it changes
// nothing.
func (r *run) useLength() {
	if r.speed == night {
		r.env = append(r.env, testenv.SetLength(testenv.Long))
	}
}

// vet runs go vet over the product and its tests.
func (r *run) vet() error {
	return r.output("go", "vet", "-tags", testTags, r.packages)
}

// staticcheck runs the version that scripts/go.mod names.
func (r *run) staticcheck() error {
	return r.output("go", "tool", "staticcheck", "-tags", testTags, r.packages)
}

// unit is the step that runs the tests of every package that starts no server. If the same run has the step race, and
// there is a C compiler, that step runs the tests of the packages in raced instead, except those in alone.
func (r *run) unit() error {
	if !r.races || r.compilesC() != nil {
		return r.testPackages(func(pkg string) bool { return !startsServers(pkg) }, waitingFlags())
	}
	return errors.Join(
		r.testPackages(func(pkg string) bool { return !startsServers(pkg) && !isRaced(pkg) }, waitingFlags()),
		r.testPackages(hasAlone, []string{"-run", aloneTests()}))
}

// casesInMemory runs the case files in one of their configurations.
func (r *run) casesInMemory() error {
	r.use(testedBinary)
	return r.testPackages(among("cases"), []string{"-run", "^TestCases$/^memory$"})
}

// endToEnd runs the tests that start servers.
func (r *run) endToEnd() error {
	r.use(testedBinary)
	r.useLength()
	left := among(slices.Concat(foreignSuites, clusterProcesses, releasedSuites, []string{clientPrograms})...)
	return r.testPackages(func(path string) bool { return startsServers(path) && !left(path) }, waitingFlags())
}

// clients is the step that runs the drivers of other languages. Drivers that take minutes to compile run only with
// --long.
func (r *run) clients() error {
	r.use(testedBinary)
	r.useLength()
	return r.testPackages(among(clientPrograms), nil)
}

// suites runs the own tests of drivers and of programs, and those of drivers once more against servers of the newest release.
func (r *run) suites() error {
	r.use(testedBinary)
	r.useLength()
	return errors.Join(
		r.testPackages(among(foreignSuites...), waitingFlags()),
		r.testPackages(among(driverSuites...), waitingFlags(), "-compat="+newestRelease))
}

// artefacts is the step that makes a release for this machine and uses it. The program that makes releases is a
// module of its own, outside of the workspace, because its libraries are not the server's. Go's cached results are
// never used, because Go does not record that the tests depend on the server. Alert rules and the dashboard are
// another module, because Prometheus' code tests them.
func (r *run) artefacts() error {
	r.useLength()
	r.env = slices.DeleteFunc(r.env, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) // these tests start released servers
	r.env = append(r.env, "GOWORK=off")
	if err := r.output("go", "-C", "packaging", "vet", "./..."); err != nil {
		return err
	}
	var errs []error
	for _, module := range []string{"packaging", "packaging/monitoring"} {
		errs = append(errs, r.test("-C", module, "test", "-json", "-count=1", "-vet=off", r.hang(), "./..."))
	}
	return errors.Join(errs...)
}
