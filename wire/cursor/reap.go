package cursor

import (
	"context"
	"time"
)

// reapEvery is the interval at which Run looks for idle cursors (MongoDB's parameter
// clientCursorMonitorFrequencySecs).
const reapEvery = 4 * time.Second

// Run closes the cursors that have been idle for too long, and parks all other idle ones, every reapEvery until ctx
// ends.
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

// reap closes the cursors that have been idle for longer than IdleMax, except those that were opened without a timeout.
// Cursors in a session have the same limit, but the end of the session may close them earlier. A cursor in a
// transaction is not closed here, but when the transaction ends.
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
