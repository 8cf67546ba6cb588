//go:build race

package programme

// racing is whether the race detector is at work, which makes everything slow.
const racing = true
