package shard

import "testing"

// TestIsAll checks which ranges contain all positions.
func TestIsAll(t *testing.T) {
	for _, c := range []struct {
		r   Range
		all bool
	}{
		{Range{}, true},
		{Range{Lo: make(Position, 8)}, true},
		{Range{Lo: Position{0, 0, 0, 0, 0, 0, 0, 1}}, false},
		{Range{Lo: make(Position, 9)}, false},
		{Range{Hi: Position{0x80, 0, 0, 0, 0, 0, 0, 0}}, false},
	} {
		if got := c.r.IsAll(); got != c.all {
			t.Errorf("%v: %t", c.r, got)
		}
	}
}
