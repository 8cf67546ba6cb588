package main

import (
	"errors"
	"os"
	"strings"
)

// releasedSuites are the suites that run only on the release build of the server: they compare answers, and the
// self-checks of the other build add nothing to them.
var releasedSuites = []string{"cursors"}

// releasedBinary is the path of the server built as for a release, without the self-checks, for the end-to-end tests.
const releasedBinary = ".cache/bin/cantle-released"

// released is the step that runs, on the server as it is released, the tests whose results may depend on the build
// tag of the self-checks: replies, by the case files and by random operations, cursors that the self-checks would
// park, and counts of allocations.
func (r *run) released() error {
	r.tags = ""
	if err := r.output("go", "build", "-ldflags", "-s -w", "-o", releasedBinary, "./cmd/cantle"); err != nil {
		return err
	}
	r.use(releasedBinary)
	r.useLength()
	return errors.Join(
		r.testPackages(func(pkg string) bool {
			return pkg == module+"/collection/exec" || pkg == module+"/wire/server"
		}, []string{"-run", "Alloc"}),
		r.testPackages(among("cases"), []string{"-run", "^TestCases$/^memory$"}),
		r.testPackages(among("differential"), []string{"-run", "^TestMetamorphic$"}),
		r.testPackages(among(releasedSuites...), nil))
}

// toolFlags returns the environment variables of all commands. Go compiles as for a release, without C and without the
// path of the folder, except that the race detector needs C: so the released program is tested, no C compiler is
// needed, and steps, as well as clones, share compiled packages. The garbage collector of compilers and tests runs at
// five times the live heap instead of twice: tests take 12 to 20 percent less CPU, compilers 7 to 15. Servers that
// tests start do not inherit this (internal/testenv), because a server sets its own goal.
func toolFlags() []string {
	return []string{"CGO_ENABLED=0", "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"), "GOGC=400"}
}
