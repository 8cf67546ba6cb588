//go:build invariants

package server

// invariants lets a panicking command crash the process.
const invariants = true
