//go:build invariants

package wire

// invariants makes Release overwrite buffers, so that tests detect uses after it.
const invariants = true
