//go:build invariants

package wire

// invariants makes Release overwrite the released buffers, so that tests detect the use of a buffer after its
// release.
const invariants = true
