package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/internal/testenv"
)

// simulated is the folder of the simulation, whose tests use all cores.
const simulated = "compat-tests/consistency/simulation"

// soak is the step that runs the nightly column of the fault programme: all tests of the packages of its rows, those
// of some rows only, or a part of the amount. It never uses Go's cached results: every night draws new random
// numbers.
//
// The simulation runs without other tests beside it, a process on each core, and as it is released, without the
// costly self-checks that it has in each change's run: so it completes twice as many seeds in the same time.
func (r *run) soak() error {
	part, err := programme.ParsePart(r.part)
	if err != nil {
		return err
	}
	packages, tests, err := soaked(r.rows)
	if err != nil {
		return err
	}
	r.use(testedBinary)
	if r.part != "" {
		r.env = append(r.env, part.Variable())
	}
	r.env = append(r.env, testenv.SetLength(testenv.Nightly))
	flags := []string{"-count=1"}
	if r.rows != "" {
		flags = append(flags, "-run", "^("+strings.Join(tests, "|")+")$")
	}
	in := func(path string, folders []string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return strings.HasSuffix(path, "/"+f) })
	}
	alone := slices.Contains(packages, simulated)
	packages = slices.DeleteFunc(packages, func(p string) bool { return p == simulated })
	if len(packages) > 0 {
		err = r.testPackages(func(path string) bool { return in(path, packages) }, append(slices.Clone(flags), waitingFlags()...))
	}
	if alone {
		err = errors.Join(err, r.simulate(part, flags))
	}
	return err
}

// simulate runs the simulation's share of a night, divided among the cores of the machine.
func (r *run) simulate(part programme.Part, flags []string) error {
	cores := runtime.NumCPU()
	errs, runs := make([]error, cores), make([]run, cores)
	var wg sync.WaitGroup
	for k := range cores {
		wg.Go(func() {
			one := &runs[k]
			*one = *r
			one.count, one.cpu = tally{}, 0
			one.env = append(slices.Clone(r.env), part.Split(k+1, cores).Variable())
			errs[k] = one.testPackages(func(path string) bool { return strings.HasSuffix(path, "/"+simulated) }, append(slices.Clone(flags), "-tags="))
		})
	}
	wg.Wait()
	for k := range runs {
		r.count.add(&runs[k].count)
		r.cpu += runs[k].cpu
	}
	return errors.Join(errs...)
}

// soaked returns the folders and tests in compat-tests of the named rows of the fault programme, canaries included;
// those of all rows if names is "".
// Errors: no row has one of the names.
func soaked(names string) (packages, tests []string, err error) {
	for _, row := range programme.Rows {
		if names != "" && !slices.Contains(strings.Split(names, ","), row.Name) {
			continue
		}
		for _, at := range append(slices.Clone(row.Tests), row.CanaryTest) {
			folder, test, _ := strings.Cut(at, " ")
			if strings.HasPrefix(folder, "compat-tests/") { // fuzz is a step of its own
				packages, tests = append(packages, folder), append(tests, test)
			}
		}
	}
	slices.Sort(packages)
	slices.Sort(tests)
	packages, tests = slices.Compact(packages), slices.Compact(tests)
	if len(packages) == 0 {
		return nil, nil, fmt.Errorf("no row of FAULTS.md that the step soak does is called %q", names)
	}
	return packages, tests, nil
}
