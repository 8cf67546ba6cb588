//go:build !race

package update_test

// raceDetector is off.
const raceDetector = false
