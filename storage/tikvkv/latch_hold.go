package tikvkv

import (
	"sync"
	"time"

	"github.com/cantledb/cantle/storage/writebuf"
)

// latchHold holds the latches of a commit until Commit has returned and all background work of the client for it has
// ended (committing the secondary keys, or removing their locks), at most the duration most longer than Commit.
type latchHold struct {
	mu    sync.Mutex
	held  writebuf.HeldLatches
	n     int
	most  time.Duration
	timer *time.Timer
}

// begin counts a task that has started.
func (l *latchHold) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
}

// end counts a task that has ended; the last one releases the latches.
func (l *latchHold) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n--; l.n == 0 {
		l.release()
	}
}

// returned counts Commit itself as a task that has ended, because Commit returns. Background tasks of the client that
// still run keep the latches of the commit for at most l.most from then on.
func (l *latchHold) returned() {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n > 0 {
		l.timer = time.AfterFunc(l.most, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.release()
		})
	}
}

// release releases the latches, so that waiting transactions continue; mu is held.
func (l *latchHold) release() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.held.Release()
}
