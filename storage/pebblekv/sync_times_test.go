package pebblekv

import (
	"strings"
	"testing"
	"time"
)

// TestSlowSyncMessages checks that a slow sync is logged as a warning at most each minute, a very slow one as an error,
// and that a message has the number of those that were not logged.
func TestSlowSyncMessages(t *testing.T) {
	now := time.Unix(1000, 0)
	x := syncTimes{now: func() time.Time { return now }}
	for i, c := range []struct {
		after, took time.Duration
		want        string // "": no message
		isError     bool
	}{
		{0, 99 * time.Millisecond, "", false},
		{0, 103 * time.Millisecond, "it took 103ms to sync the log", false},
		{30 * time.Second, 900 * time.Millisecond, "", false},
		{time.Second, time.Second, "(slow syncs since the last message: 1)", true},
		{time.Second, 2 * time.Second, "", true},
		{time.Minute, 200 * time.Millisecond, "(slow syncs since the last message: 1)", false},
	} {
		now = now.Add(c.after)
		begun := x.begin()
		now = now.Add(c.took)
		text, isError := x.end(begun)
		if (text == "") != (c.want == "") || !strings.Contains(text, c.want) || text != "" && isError != c.isError {
			t.Errorf("%d: %q, an error: %v", i, text, isError)
		}
	}
	if n := x.slow.Load(); n != 5 {
		t.Errorf("%d slow syncs", n)
	}
}
