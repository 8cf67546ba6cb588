//go:build !invariants

package server

// invariants is on under the build tag of that name.
const invariants = false
