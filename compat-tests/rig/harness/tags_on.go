//go:build invariants

package harness

// testedTags are the build tags of the programs that tests start: the same as those of the tests.
const testedTags = "invariants"
