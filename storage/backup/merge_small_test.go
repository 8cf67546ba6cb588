package backup

import (
	"maps"
	"path/filepath"
	"testing"
	"time"
)

// TestMergeSmall checks that a Runner merges many small segments between two bases, and writes none while nothing is
// written.
func TestMergeSmall(t *testing.T) {
	w := newWorld(t, 1)
	a := InFolder(filepath.Join(t.TempDir(), "backups"))
	r := NewRunner(w.src(), Policy{To: a, Interval: time.Hour, LogInterval: time.Second}, "test", time.Now, nil)
	w.write(5)
	if _, err := r.take(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	first := len(w.times) // the moment of the base is later than the commit before it
	for range mergeTail + 3 {
		w.write(1)
		if err := r.ship(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	segments := func() int {
		t.Helper()
		f, err := Open(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return len(f.Timelines[0].Segments)
	}
	n := segments()
	if n > 6 {
		t.Errorf("%d segments", n)
	}
	for range 3 {
		if err := r.ship(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if now := segments(); now != n {
		t.Errorf("without writes %d segments became %d", n, now)
	}
	verified(t, a.Location(), "")
	for _, i := range []int{first, first + 30, len(w.times) - 1} {
		if got := restored(t, a.Location(), w.times[i], false); !maps.Equal(got, w.state(w.times[i])) {
			t.Errorf("the state after commit %d is another", i)
		}
	}
}
