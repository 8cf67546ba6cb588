//go:build invariants

package cursor

// warmMax lets every cursor be parked at once, so that all tests of batches are tests of it.
const warmMax = -1
