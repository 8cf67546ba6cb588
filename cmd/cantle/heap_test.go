package main

import "testing"

// The heap grows fivefold while it is small, to the goal when it is not, and by half
// beyond.
func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 400}, {10 << 20, 400}, {51 << 20, 400}, {64 << 20, 300}, {128 << 20, 100}, {200 << 20, 50}, {1 << 30, 50}} {
		if got := percentFor(c.live); got != c.want {
			t.Errorf("%d MB live: %d %%, want %d %%", c.live>>20, got, c.want)
		}
	}
}
