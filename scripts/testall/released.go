package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/compat-tests/faults"
)

// bothSuites, under compat-tests, run on the release build of the server and on the build with the tag
// "invariants". Each run does half of the amount that the fault programme requires, and all cases.
var bothSuites = []string{"cases", "isolation", "differential", "simulation"}

// releasedSuites run only on the release build of the server: they compare its answers, and the tag adds
// no checks to them.
var releasedSuites = []string{"cursors"}

// hasSuite reports that a package is one of some suites.
func hasSuite(suites []string, path string) bool {
	_, suite, ok := strings.Cut(path, endPattern)
	return ok && slices.Contains(suites, suite)
}

// releasedBinary is the server as it is released, for the end-to-end tests.
const releasedBinary = ".cache/bin/cantle-released"

// released runs the suites of both lists on the server as it is released: a right answer must not
// depend on a build tag.
func (r *run) released() error {
	if err := r.output(15*time.Minute, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", releasedBinary, "./cmd/cantle"); err != nil {
		return err
	}
	return r.with("", releasedBinary, faults.Part{Number: 1, Of: 2}, func(path string) bool { return hasSuite(bothSuites, path) || hasSuite(releasedSuites, path) })
}

// tagged runs bothSuites on the server with the tag.
func (r *run) tagged() error {
	return r.with(testTags, testedBinary, faults.Part{Number: 2, Of: 2}, func(path string) bool { return hasSuite(bothSuites, path) })
}

// with runs tests with a build tag, on a server, for a part of the amount of the fault programme.
func (r *run) with(tags, binary string, part faults.Part, keep func(path string) bool) error {
	env, before := r.env, r.tags
	defer func() { r.env, r.tags = env, before }()
	r.tags = tags
	r.env = slices.Clone(env)
	r.use(binary)
	if r.long { // a night's part is the soak step's
		r.env = append(r.env, "CANTLE_LONG=1")
	} else {
		r.env = append(r.env, part.Variable())
	}
	return r.testPackages(keep, []string{fmt.Sprintf("-p=%d", max(waitingAtOnce, runtime.NumCPU()))})
}
