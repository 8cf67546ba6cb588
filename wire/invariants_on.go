//go:build invariants

package wire

// invariants makes released buffers unreadable.
const invariants = true
