package status

import (
	"slices"
	"testing"
)

// TestLatencyRanges compares the ranges of the histogram with the first and last durations that fall into them, and with
// the lower bounds of the manual: powers of two, with half steps from 2048 µs to about a second.
func TestLatencyRanges(t *testing.T) {
	from := latencyFrom[:]
	for i, first := range from {
		if got := latencyRange(first); got != i {
			t.Errorf("%d µs is in range %d, which does not begin with it, instead of %d", first, got, i)
		}
		if i > 0 {
			if got := latencyRange(first - 1); got != i-1 {
				t.Errorf("%d µs is in range %d, want %d", first-1, got, i-1)
			}
		}
	}
	if !slices.IsSorted(from) {
		t.Errorf("the ranges do not ascend: %d", from)
	}
	want := []int64{0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576}
	if !slices.Equal(from[:len(want)], want) {
		t.Errorf("the first ranges begin with %d, want %d", from[:len(want)], want)
	}
	if last := latencyRange(1 << 62); last != latencyRanges-1 {
		t.Errorf("a very long duration is in range %d, want the last, %d", last, latencyRanges-1)
	}
}
