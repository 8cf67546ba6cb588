package main

import (
	"errors"
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
