package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// module is the root module, and the prefix of all package paths.
const module = "github.com/cantledb/cantle"

// Packages of tests that start servers, by the last part of their path.
var (
	// driverSuites are the own tests of drivers, foreignSuites those of drivers and of programs.
	driverSuites  = []string{"driverspecs", "nodesuite", "pymongosuite"}
	foreignSuites = append([]string{"programs"}, driverSuites...)
	// clusterProcesses run servers as processes over a simulated cluster.
	clusterProcesses = []string{"processes"}
	// longest lists the packages whose tests take longest. They are started first, so that none is left alone at the
	// end of a step; packages that mostly wait are mixed with those that compute.
	longest = []string{"memory", "inprocess", "differential", "fulldisk", "disk", "abuse", "simulation", "cases", "console", "crash", "authfuzz",
		"isolation", "tools", "language", "upgrade", "spill", "bench", "driver", "pages", "expr", "tikvkv", "cli", "pebblekv", "jobs", "agg", "rooms"}
)

// newestRelease is the newest release of MongoDB as which servers answer. The own tests of drivers run against it, too.
const newestRelease = "9.0"

// clientPrograms is the package that installs and runs other languages' drivers. It is run in a step of its own,
// clients, because it compiles much.
const clientPrograms = "drivers"

// startsServers reports whether the tests of a package start servers.
func startsServers(pkg string) bool {
	return strings.HasPrefix(pkg, module+"/compat-tests/")
}

// among returns a function that reports whether a package starts servers and has one of the names.
func among(names ...string) func(pkg string) bool {
	return func(pkg string) bool { return startsServers(pkg) && slices.Contains(names, path.Base(pkg)) }
}

// waitingFlags returns the flag of go test that runs two packages at a time for each core: many packages wait for
// clients, leases, kills and time limits.
func waitingFlags() []string { return []string{fmt.Sprintf("-p=%d", 2*runtime.NumCPU())} }

// list runs go list with a format over the packages of the run, and returns its output.
func (r *run) list(format string) (string, error) {
	cmd, end := r.command("go", "list", "-tags", r.tags, "-f", format, r.packages)
	defer end()
	cmd.Stderr = r.out
	listed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	return string(listed), nil
}

// listed returns the packages that keep accepts, the longest first.
func (r *run) listed(keep func(pkg string) bool) ([]string, error) {
	all, err := r.list("{{.ImportPath}}")
	if err != nil {
		return nil, err
	}
	packages := slices.DeleteFunc(strings.Fields(all), func(pkg string) bool { return !keep(pkg) })
	if len(packages) == 0 {
		return nil, errors.New("no packages to test")
	}
	place := func(pkg string) int {
		if i := slices.Index(longest, path.Base(pkg)); i >= 0 {
			return i
		}
		return len(longest)
	}
	slices.SortStableFunc(packages, func(a, b string) int { return place(a) - place(b) })
	return packages, nil
}

// testPackages runs the tests of the packages that keep accepts. own are flags of the tests themselves.
func (r *run) testPackages(keep func(pkg string) bool, flags []string, own ...string) error {
	packages, err := r.listed(keep)
	if err != nil {
		return err
	}
	args := []string{"test", "-json", "-tags", r.tags, "-vet=off", r.hang()}
	args = append(append(args, flags...), packages...)
	if len(own) > 0 {
		args = append(append(args, "-args"), own...)
	}
	return r.test(args...)
}

// hang returns the flag of go test that ends a package that hangs, and prints its stacks. Its time, 3 hours or 24 at
// night, does not limit slow packages. If the run has a time limit, the flag ends the package a minute before that.
func (r *run) hang() string {
	after := 3 * time.Hour
	if r.speed == night {
		after = 24 * time.Hour
	}
	if end, ok := r.ctx.Deadline(); ok {
		after = max(min(after, time.Until(end)-time.Minute), time.Minute)
	}
	return "-timeout=" + after.Round(time.Second).String()
}

// test runs `go test -json` and counts the results of the tests. A failing test is counted, not returned: an error
// means that go test itself failed. Failures after the end of the run are counted as not run.
func (r *run) test(args ...string) error {
	cmd, end := r.command("go", args...)
	defer end()
	cmd.Stderr = r.out
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed := r.count.failed
	heard := listen(&r.count, out, r.out, func() error { return context.Cause(r.ctx) })
	err = cmd.Wait()
	if r.count.failed > failed && r.ctx.Err() == nil {
		err = nil // counted already
	}
	return errors.Join(heard, err)
}
