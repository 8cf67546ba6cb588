//go:build race

package order_test

// raceDetector is true in builds with the race detector. There sync.Pool drops buffers at random, so tests do not
// count allocations.
const raceDetector = true
