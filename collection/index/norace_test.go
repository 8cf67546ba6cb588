//go:build !race

package index_test

// raceDetector is off.
const raceDetector = false
