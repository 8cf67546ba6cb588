package server

import (
	"time"

	"github.com/cantledb/cantle/wire"
)

// turnstile lets connections in at the rate of an Establishment. The caller guards it.
type turnstile struct {
	cfg     wire.Establishment
	tokens  float64 // connections that may come now; below 0 are promised ones
	at      time.Time
	queued  int
	refused int64
	changed chan struct{} // closed when cfg changes; nil while nobody waits
}

// set changes the rate. Who waits need wait no longer.
func (t *turnstile) set(cfg wire.Establishment, at time.Time) {
	t.cfg, t.at = cfg, at
	t.tokens = t.burst()
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// burst is how many connections may come at once.
func (t *turnstile) burst() float64 { return max(1, t.cfg.PerSecond*t.cfg.BurstSeconds) }

// enter lets a connection in, now or after a while, in which it counts as queued,
// or refuses it.
func (t *turnstile) enter(at time.Time) (wait time.Duration, ok bool) {
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

// SetEstablishment changes how fast connections may be opened from now on.
func (s *Server) SetEstablishment(cfg wire.Establishment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnstile.set(cfg, time.Now())
}

// await lets the connection wait for its turn. False when its end came first.
func (c *Conn) await() bool {
	if c.turn == nil {
		return true
	}
	s := c.server
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turnstile.queued--
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
