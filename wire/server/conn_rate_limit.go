package server

import (
	"time"

	"github.com/cantledb/cantle/wire"
)

// connRateLimiter is the token bucket that limits the rate of new connections of all clients together, as a
// ConnRateLimit sets it. Not safe for concurrent use; Server.mu guards it.
type connRateLimiter struct {
	cfg     wire.ConnRateLimit
	tokens  float64 // connections that may enter now; below 0: promised to those that wait
	at      time.Time
	queued  int
	refused int64
	changed chan struct{} // closed when cfg changes; nil if none has waited since the last change
}

// set changes the rate. Connections that wait for their turn under the old rate may enter at once.
func (t *connRateLimiter) set(cfg wire.ConnRateLimit, at time.Time) {
	t.cfg, t.at = cfg, at
	t.tokens = t.burst()
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// burst returns how many connections may enter at once.
func (t *connRateLimiter) burst() float64 { return max(1, t.cfg.PerSecond*t.cfg.BurstSeconds) }

// enter admits a connection (wait is 0), or counts it as queued and returns the time that it must wait. ok is false
// if the connection is refused because the queue is full.
func (t *connRateLimiter) enter(at time.Time) (wait time.Duration, ok bool) {
	if !t.cfg.Enabled {
		return 0, true
	}
	t.tokens = min(t.burst(), t.tokens+at.Sub(t.at).Seconds()*t.cfg.PerSecond)
	t.at = at
	if t.tokens < 1 && t.queued >= t.cfg.QueueMax {
		t.refused++
		return 0, false
	}
	if t.tokens--; t.tokens >= 0 {
		return 0, true
	}
	t.queued++
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return time.Duration(-t.tokens / t.cfg.PerSecond * float64(time.Second)), true
}

// SetConnRateLimit changes the rate at which connections may be opened.
func (s *Server) SetConnRateLimit(cfg wire.ConnRateLimit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connRateLimiter.set(cfg, time.Now())
}

// await waits until the connection may enter under the connection rate limit. It returns false if the connection or
// the server ends first.
func (c *Conn) await() bool {
	if c.turn == nil {
		return true
	}
	s := c.server
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.connRateLimiter.queued--
	}()
	t := time.NewTimer(c.wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.turn:
		return true
	case <-c.ctx.Done():
	case <-s.stopping.Done():
	}
	return false
}
