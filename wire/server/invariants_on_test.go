//go:build invariants

package server

// invariants says that released memory is overwritten.
const invariants = true
