package authfuzz

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary plants bugs by which the server once authorized something else than it ran, and checks that TestGap
// finds each. signs are texts that the findings must contain.
func TestCanary(t *testing.T) {
	for _, c := range []struct {
		bug   string
		signs []string
	}{
		{"the first of two fields of a stage", []string{"it shows a", "it changes documents", "it changes collection"}},
		{"the first of two names", []string{"right beyond realm"}},
		{"fractions name nothing", []string{`"bulkWrite"`}},
		{"a UUID names nothing", []string{`"aggregate":{"$binary"`}},
		{"a view without viewOn", []string{"beyond mine."}},
		{"the first field is the mode", []string{`"mapReduce"`}},
		{"the first of two options", []string{`"currentOp"`}},
	} {
		t.Run(c.bug, func(t *testing.T) { harness.Caught(t, c.bug, "TestGap", c.signs...) })
	}
}
