package main

import (
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// raced are the folders whose tests, except those in alone, every change runs with the race detector.
var raced = []string{"/collection/catalog", "/shard", "/storage", "/wire"}

// alone lists tests in the folders of raced, by package, that a change runs without the race detector and a night
// with it. In most a single client moves megabytes, hashes passwords or starts again after a crash at each step, or
// the goroutines of a bubble of virtual time guess passwords a hundred thousand times. With the race detector they
// take ten times as long, and other tests of the same packages run the same goroutines.
var alone = map[string][]string{
	"/shard/jobs":       {"TestInterruptedJobs", "TestReshardCrash", "TestTruncateBySize", "TestTruncateBySizeOverLives"},
	"/storage/pebblekv": {"TestCompactInPieces", "TestCrash", "TestDamageAtOpening", "TestDamagedBlock", "TestDamagedLargeBlock", "TestGrowingKeysAreWrittenOnce", "TestLargeCommit"},
	"/storage/tikvkv":   {"TestLargeValues", "TestTailBounds"},
	"/wire/auth":        {"TestGuesses"},
	"/wire/rooms": {
		"TestChangeFragments", "TestChargesBySize", "TestFiltersAreBounded", "TestGuessingIsSlow", "TestListTooLong",
		"TestMetricsOfSizes", "TestOplogLargeTransaction", "TestReplyTooLong",
	},
}

// hasAlone reports whether a package has such tests.
func hasAlone(pkg string) bool { return alone[strings.TrimPrefix(pkg, module)] != nil }

// aloneTests returns the pattern of the tests in alone, by which go test runs only them (-run) or omits them (-skip).
func aloneTests() string {
	return "^(" + strings.Join(slices.Concat(slices.Collect(maps.Values(alone))...), "|") + ")$"
}

// race is the step that runs tests with the race detector: those of the folders in raced, at night all.
func (r *run) race() error {
	if err := r.compilesC(); err != nil {
		return err
	}
	r.env = append(r.env, "CGO_ENABLED=1",
		"GORACE=atexit_sleep_ms=0") // otherwise each package waits a second at its end for reports, which are printed already
	r.useLength()
	// With pebblegozstd Pebble compresses by the library in Go, as in a program that is built without cgo. Go's linker
	// links such tests without C's, in three quarters of the time.
	r.tags += ",pebblegozstd"
	flags := []string{"-race"}
	if runtime.GOOS == "linux" {
		flags = append(flags, "-ldflags=-linkmode=internal")
	}
	if r.speed == night {
		return r.testPackages(func(string) bool { return true }, flags)
	}
	return r.testPackages(isRaced, append(flags, "-skip", aloneTests()))
}

// isRaced reports whether a package is in one of the folders of raced.
func isRaced(pkg string) bool {
	return slices.ContainsFunc(raced, func(folder string) bool { return strings.HasPrefix(pkg+"/", module+folder+"/") })
}

// compilesC returns an error if this machine has no C compiler, which Go's race detector needs on Linux.
func (r *run) compilesC() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	cmd, end := r.command("go", "env", "CC")
	defer end()
	named, err := cmd.Output()
	if err != nil {
		return err
	}
	compiler, _, _ := strings.Cut(strings.TrimSpace(string(named)), " ")
	if _, err := exec.LookPath(compiler); err != nil {
		return lacking("a C compiler: the race detector is linked by cgo; Debian: apt install gcc libc6-dev")
	}
	return nil
}
