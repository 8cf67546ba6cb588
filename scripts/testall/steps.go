package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/cantledb/cantle/compat-tests/faults"
)

// testTags are set for all tests: invariants turns on the costly self-checks.
const testTags = "invariants"

// mongoshDir is where npm puts mongosh. The leading dot keeps the Go tool out of it.
const mongoshDir = ".cache/mongosh"

// installMongosh installs the version named in compat-tests/mongosh/package.json.
func (r *run) installMongosh() error {
	wanted, err := os.ReadFile("compat-tests/mongosh/package.json")
	if err != nil {
		return err
	}
	copied := filepath.Join(mongoshDir, "package.json")
	have, _ := os.ReadFile(copied)
	_, missing := os.Stat(filepath.Join(mongoshDir, "node_modules", ".bin", "mongosh"))
	if missing == nil && bytes.Equal(have, wanted) {
		fmt.Println("mongosh is installed")
		return nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("mongosh needs Node and npm: install Node 20 or newer")
	}
	if err := os.MkdirAll(mongoshDir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(copied, wanted, 0o644); err != nil {
		return err
	}
	// A lock file would record where each package came from, so there is none; the
	// version in package.json is exact.
	err = r.output(8*time.Minute, "npm", "install", "--prefix", mongoshDir,
		"--no-package-lock", "--no-audit", "--no-fund", "--no-save", "--loglevel=error")
	if err != nil {
		_ = os.Remove(copied) // so that the next run tries again
		return fmt.Errorf("npm install: %w", err)
	}
	return nil
}

// testedBinary is the server with the tag, for the end-to-end tests.
const testedBinary = ".cache/bin/cantle-tested"

// build compiles everything, and the server that the end-to-end tests start.
func (r *run) build() error {
	if err := r.output(15*time.Minute, "go", "build", "./..."); err != nil {
		return err
	}
	if err := os.MkdirAll(".cache/bin", 0o755); err != nil {
		return err
	}
	return r.output(15*time.Minute, "go", "build", "-tags", testTags, "-o", testedBinary, "./cmd/cantle")
}

// use makes later commands start the server at a path, if it was built.
func (r *run) use(binary string) {
	if path, err := filepath.Abs(binary); err == nil {
		if _, err := os.Stat(path); err == nil {
			r.env = append(r.env, "CANTLE_BINARY="+path)
		}
	}
}

// vet runs go vet over the product and its tests.
func (r *run) vet() error {
	return r.output(15*time.Minute, "go", "vet", "-tags", testTags, r.packages)
}

// staticcheck runs the version that go.mod names.
func (r *run) staticcheck() error {
	return r.output(15*time.Minute, "go", "tool", "staticcheck", "-tags", testTags, r.packages)
}

// endPattern matches the packages that start servers; they run in a step of their own.
const endPattern = "/compat-tests/"

// unit runs the tests of every package that starts no server.
func (r *run) unit() error {
	return r.testPackages(func(path string) bool {
		return !strings.Contains(path, endPattern) || strings.HasSuffix(path, "/casefile")
	}, nil)
}

// endToEnd runs the tests that start servers. Of PyMongo's own tests only a selection
// runs without --long.
func (r *run) endToEnd() error {
	r.use(testedBinary)
	if r.long {
		r.env = append(r.env, "CANTLE_LONG=1")
	}
	err := r.testPackages(func(path string) bool {
		return strings.Contains(path, endPattern) && !strings.HasSuffix(path, "/casefile") && !strings.Contains(path, clientsPattern) &&
			!hasSuite(bothSuites, path) && !hasSuite(releasedSuites, path)
	}, []string{fmt.Sprintf("-p=%d", max(waitingAtOnce, runtime.NumCPU()))})
	return errors.Join(err, r.tagged())
}

// waitingAtOnce is how many packages of end-to-end tests run at a time at least: most of
// them wait for clients, kills and time limits.
const waitingAtOnce = 2

// clientsPattern matches the package that installs and runs other languages' drivers;
// it runs alone, as it compiles much.
const clientsPattern = endPattern + "clients"

// clients runs the drivers of other languages. What takes minutes to compile is left
// to --long.
func (r *run) clients() error {
	r.use(testedBinary)
	if r.long {
		r.env = append(r.env, "CANTLE_LONG=1")
	}
	return r.testPackages(func(path string) bool { return strings.Contains(path, clientsPattern) }, nil)
}

// artefactsLimit bounds the step of that name: it compiles the server anew, as it is
// released, once or, with --long, for every platform.
const artefactsLimit = 20 * time.Minute

// artefacts makes a release for this machine and uses it. The program that makes releases
// is a module of its own, as its libraries are none of the server's.
func (r *run) artefacts() error {
	if r.long {
		r.env = append(r.env, "CANTLE_LONG=1")
	}
	if err := r.output(5*time.Minute, "go", "-C", "packaging", "vet", "./..."); err != nil {
		return err
	}
	// Never from Go's cache of results, which does not know that they depend on the server.
	// Alert rules and the board are a module of their own, as they are tested by Prometheus.
	return errors.Join(
		r.test(artefactsLimit+time.Minute, "-C", "packaging", "test", "-json", "-count=1", "-vet=off", "-timeout", artefactsLimit.String(), "./..."),
		r.test(artefactsLimit+time.Minute, "-C", "packaging/monitoring", "test", "-json", "-count=1", "-vet=off", "-timeout", artefactsLimit.String(), "./..."))
}

// race repeats all tests with the race detector.
func (r *run) race() error {
	if runtime.GOOS == "linux" {
		if _, err := exec.LookPath("cc"); err != nil {
			return errors.New("the race detector needs a C compiler")
		}
	}
	return r.testPackages(func(string) bool { return true }, []string{"-race"})
}

// testPackages runs the tests of the packages that keep accepts.
func (r *run) testPackages(keep func(path string) bool, flags []string) error {
	cmd, cancel := r.command(5*time.Minute, "go", "list", "-tags", r.tags, r.packages)
	defer cancel()
	cmd.Stderr = os.Stdout
	listed, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var packages []string
	for path := range strings.FieldsSeq(string(listed)) {
		if keep(path) {
			packages = append(packages, path)
		}
	}
	if len(packages) == 0 {
		return errors.New("no packages to test")
	}
	limit := 22 * time.Minute // it takes 13 on two cores that have nothing else to do
	if r.long {
		limit = 6 * time.Hour
	}
	args := []string{"test", "-json", "-tags", r.tags, "-vet=off", "-timeout", limit.String()}
	return r.test(limit+time.Minute, append(append(args, flags...), packages...)...)
}

// test runs `go test -json` and counts its tests. Failing tests are counted, not
// returned: an error means the run itself went wrong.
func (r *run) test(limit time.Duration, args ...string) error {
	cmd, cancel := r.command(limit, "go", args...)
	defer cancel()
	cmd.Stderr = os.Stdout
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed := r.count.failed
	heard := listen(&r.count, out, os.Stdout)
	err = cmd.Wait()
	if r.count.failed > failed {
		err = nil // counted already
	}
	return errors.Join(heard, err)
}

// fuzzInputs is how many inputs a target gets in each run.
const fuzzInputs = 500

// fuzz runs every fuzz target, or a part of them, for a short time, or a longer one with --long.
func (r *run) fuzz() error {
	part, err := faults.ParsePart(r.part)
	if err != nil {
		return err
	}
	targets, err := r.fuzzTargets()
	if err != nil {
		return err
	}
	targets = faults.Of(part, targets)
	if len(targets) == 0 {
		return errNothing
	}
	begun, failed := time.Now(), 0
	// Counted and not timed: at the end of a timed run on a busy machine the
	// fuzzer may report its own deadline as a failure of the target.
	each, amount := time.Minute, fmt.Sprintf("%dx", fuzzInputs)
	if r.long {
		each = 5 * time.Minute
		amount = each.String()
	}
	for _, t := range targets {
		limit := each + 3*time.Minute // a first run builds everything with instruments
		err := r.output(limit+time.Minute, "go", "test", "-tags", testTags, "-vet=off", "-timeout", limit.String(),
			"-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", amount, t.path)
		if err != nil {
			r.count.fail(t.path + " " + t.name)
			failed++
			continue
		}
		r.count.passed++
	}
	return r.tellFuzz(begun, len(targets), failed)
}

// target is one fuzz target.
type target struct{ path, name string }

// fuzzTargets finds the targets of all packages by reading their test files.
func (r *run) fuzzTargets() ([]target, error) {
	cmd, cancel := r.command(5*time.Minute, "go", "list", "-tags", testTags, "-f",
		`{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}`+
			`{{range .XTestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}`, r.packages)
	defer cancel()
	cmd.Stderr = os.Stdout
	listed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var out []target
	for line := range strings.Lines(string(listed)) {
		path, file, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for source := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(source, "func Fuzz"); ok {
				name, _, _ := strings.Cut(rest, "(")
				out = append(out, target{path, "Fuzz" + name})
			}
		}
	}
	return out, nil
}
