//go:build !invariants

package harness

// testedTags are the build tags of the programs that tests start: none, as in a release.
const testedTags = ""
