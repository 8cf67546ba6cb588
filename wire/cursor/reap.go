package cursor

import (
	"context"
	"time"
)

// reapEvery is how often Run looks for idle cursors (clientCursorMonitorFrequencySecs).
const reapEvery = 4 * time.Second

// Run closes cursors that go unused for too long, and parks the others, until
// ctx ends.
func (r *Registry) Run(ctx context.Context) {
	t := time.NewTicker(reapEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			r.reap()
			r.park(0)
		}
	}
}

// reap is one round of Run. Cursors in a session live as long as others: the session's
// end closes them earlier. Those in a transaction end with it.
func (r *Registry) reap() {
	r.mu.Lock()
	limit := time.Now().Add(-r.idleMax)
	r.mu.Unlock()
	n := r.killIf(func(c *Cursor) bool {
		return !c.pinned && !c.Options.NoTimeout && c.Options.TxnNumber < 0 && c.used.Before(limit)
	})
	r.mu.Lock()
	r.stats.TimedOut += int64(n)
	r.mu.Unlock()
}
