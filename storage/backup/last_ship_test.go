package backup

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// interrupted is an archive whose first file is created only when its context has ended, and so is not.
type interrupted struct {
	Archive
	first sync.Once
	begun chan struct{}
}

func (a *interrupted) Create(ctx context.Context, name string) (Writer, error) {
	blocked := false
	a.first.Do(func() { blocked = true })
	if blocked {
		close(a.begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return a.Archive.Create(ctx, name)
}

// TestStopDuringBackup stops a server while it makes its first base or a segment: the archive has all writes afterwards.
func TestStopDuringBackup(t *testing.T) {
	for _, based := range []bool{false, true} {
		w := newWorld(t, 1)
		folder := InFolder(filepath.Join(t.TempDir(), "backups"))
		w.write(100)
		if based {
			w.ship(folder)
		}
		w.write(100)
		a := &interrupted{Archive: folder, begun: make(chan struct{})}
		r := NewRunner(w.src(), Policy{To: a, Interval: time.Hour, LogInterval: time.Millisecond}, "test", time.Now, func(what string, err error) {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.Run(ctx) }()
		<-a.begun
		stop()
		<-ended
		c := follow(t, w, folder)
		c.step()
		if want, got := w.times[len(w.times)-1], c.f.Status().Applied; got < want {
			t.Errorf("with a base %t: the archive has writes up to %v, and not to %v: %+v", based, got, want, r.Status())
		}
	}
}
