//go:build !race

package order_test

// raceDetector is off.
const raceDetector = false
