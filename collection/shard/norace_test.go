//go:build !race

package shard

// raceDetector is off.
const raceDetector = false
