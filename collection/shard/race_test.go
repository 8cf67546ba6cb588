//go:build race

package shard

// raceDetector is on: sync.Pool then drops buffers at random, so allocations are not counted.
const raceDetector = true
