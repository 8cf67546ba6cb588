//go:build !invariants

package wire

// invariants is set by the build tag of that name.
const invariants = false
