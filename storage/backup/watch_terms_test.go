package backup

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestTermsWatched begins a term while the former primary copies the files of a base, and on one without automatic backups: it
// notices it after the interval of segments.
func TestTermsWatched(t *testing.T) {
	for _, x := range []struct {
		name     string
		interval time.Duration
	}{{"during a base", time.Hour}, {"no automatic backups", 0}} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(t, 1)
			a := InFolder(filepath.Join(t.TempDir(), "backups"))
			w.write(100)
			w.ship(a)
			c := follow(t, w, a)
			w.write(1000)
			r := NewRunner(w.src(), Policy{To: a, Interval: x.interval, LogInterval: 20 * time.Millisecond, Rate: 1}, "test", func() time.Time { return time.Now().Add(2 * time.Hour) }, nil)
			deposed := make(chan Term, 2)
			r.Deposed = func(ctx context.Context, term Term) {
				if ctx.Err() != nil {
					t.Error("the context of the rollback has ended")
				}
				deposed <- term
			}
			ended := make(chan struct{})
			go func() { defer close(ended); r.Run(t.Context()) }()
			look, late := time.NewTicker(time.Millisecond), time.After(time.Minute)
			for x.interval > 0 && r.Status().Progress.Phase != "copying files" {
				select {
				case <-look.C:
				case <-late:
					t.Fatalf("no base is being made: %+v", r.Status())
				}
			}
			if err := c.f.Promote(t.Context(), "second"); err != nil {
				t.Fatal(err)
			}
			select {
			case term := <-deposed:
				if term != *c.kept {
					t.Errorf("deposed by %+v", term)
				}
			case <-time.After(time.Minute):
				t.Fatal("the term is not noticed")
			}
			<-ended
			if len(deposed) != 0 {
				t.Error("deposed twice")
			}
			if _, err := Ship(t.Context(), w.src(), a); !errors.As(err, new(*DeposedError)) {
				t.Errorf("a segment after that: %v", err)
			}
		})
	}
}
