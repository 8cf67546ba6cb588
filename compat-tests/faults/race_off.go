//go:build !race

package faults

// racing is whether the race detector is at work, which makes everything slow.
const racing = false
