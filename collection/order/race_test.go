//go:build race

package order_test

// raceDetector is on: sync.Pool then drops buffers at random, so allocations are not counted.
const raceDetector = true
