//go:build !race

package programme

// racing reports whether the race detector is on, which makes everything slow.
const racing = false
