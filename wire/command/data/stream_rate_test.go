package data

import (
	"testing"
	"time"
)

// TestPace checks the pause between two replies of one change stream: it grows with the number of streams that get
// replies, up to paceMax. It is short for few streams, and zero after a time without replies.
func TestPace(t *testing.T) {
	var p pace
	at := time.Unix(1_800_000_000, 0)
	rounds := func(streams int) time.Duration {
		for range 4 {
			at = at.Add(paceMax)
			for range streams {
				p.count(at)
			}
		}
		return p.pause(at)
	}
	for streams, want := range map[int]time.Duration{1: paceEach, 10: 10 * paceEach, 100: paceMax, 10_000: paceMax} {
		if got := rounds(streams); got != want {
			t.Errorf("%d streams wait for %v, wanted %v", streams, got, want)
		}
	}
	rounds(1000)
	if at = at.Add(2 * paceMax); p.pause(at) != 0 {
		t.Errorf("a stream waits for %v after a pause of all", p.pause(at))
	}
}
