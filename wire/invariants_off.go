//go:build !invariants

package wire

// invariants is on under the build tag of that name.
const invariants = false
