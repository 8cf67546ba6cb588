package main

import (
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// raced are the folders whose tests every change runs with the race detector.
var raced = []string{"/collection/catalog", "/shard", "/storage", "/wire"}

// alone lists tests of those folders, by package, in which a single client moves megabytes or hashes passwords,
// or in which the goroutines of a bubble of virtual time guess passwords a hundred thousand times. The race detector
// takes ten times as long for them, and other tests of the same packages have the same goroutines. A change runs them
// without it, a night with it.
var alone = map[string][]string{
	"/shard/jobs":       {"TestTruncateBySize", "TestTruncateBySizeOverLives"},
	"/storage/pebblekv": {"TestCrash", "TestDamageAtOpening", "TestDamagedLargeBlock", "TestGrowingKeysAreWrittenOnce"},
	"/wire/auth":        {"TestGuesses"},
	"/wire/rooms": {
		"TestChangeFragments", "TestChargesBySize", "TestFiltersAreBounded", "TestGuessingIsSlow", "TestListTooLong",
		"TestMetricsOfSizes", "TestOplogLargeTransaction", "TestReplyTooLong",
	},
}

// hasAlone reports whether a package has such tests.
func hasAlone(pkg string) bool { return alone[strings.TrimPrefix(pkg, module)] != nil }

// aloneTests returns the pattern by which go test runs (-run) or omits (-skip) them.
func aloneTests() string {
	return "^(" + strings.Join(slices.Concat(slices.Collect(maps.Values(alone))...), "|") + ")$"
}

// race runs tests with the race detector: those of the folders with concurrent code, at night all.
func (r *run) race() error {
	if err := r.compilesC(); err != nil {
		return err
	}
	r.env = append(r.env, "CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0") // for each package it would wait a second for reports that are printed already
	r.useLength()
	if r.speed == night {
		return r.testPackages(func(string) bool { return true }, []string{"-race"})
	}
	return r.testPackages(isRaced, []string{"-race", "-skip", aloneTests()})
}

// isRaced reports whether a package is in one of the folders.
func isRaced(pkg string) bool {
	return slices.ContainsFunc(raced, func(folder string) bool { return strings.HasPrefix(pkg+"/", module+folder+"/") })
}

// compilesC returns an error if there is no C compiler, which Go's race detector needs.
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
