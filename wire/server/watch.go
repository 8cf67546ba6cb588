package server

import (
	"net"
	"os"
	"time"

	"github.com/cantledb/cantle/wire"
)

// standstill is since when a connection has been in the same phase, on the watcher's clock.
type standstill struct {
	phase uint64
	since time.Duration
}

// unseen is the phase in which the watcher last saw a connection that it has not seen yet.
// The first look begins its time: that of a new connection is not the server's.
const unseen = ^uint64(0)

// roundsPerSweep is how many rounds of the watcher there are from one look at all connections to
// the next. In between it looks at those that were at work, and without any it sleeps: ten
// thousand connections that wait for their clients are to cost nothing.
const roundsPerSweep = 10

// watcher looks at connections now and then: it interrupts commands whose client is gone and
// closes connections that are idle or stuck for too long. Doing that from here keeps timers
// and deadlines out of the path of every request.
type watcher struct {
	*Server
	// clock counts rounds, so that a process that was stopped does not find everybody late.
	clock time.Duration
	busy  map[*Conn]struct{} // were at work when all were looked at
	gone  map[int64]bool     // clients that have hung up since
}

// watch is the watcher, until the server stops.
func (s *Server) watch() {
	w := &watcher{Server: s, busy: map[*Conn]struct{}{}, gone: map[int64]bool{}}
	t := time.NewTimer(s.cfg.WatchEvery)
	defer t.Stop()
	defer func() {
		s.mu.Lock()
		s.hangups.close()
		s.mu.Unlock()
	}()
	for {
		rounds := roundsPerSweep
		for {
			next := s.cfg.WatchEvery
			if len(w.busy) == 0 {
				next *= time.Duration(rounds)
			}
			t.Reset(next)
			select {
			case <-t.C:
			case <-s.drained:
				return
			}
			w.clock += next
			if rounds -= int(next / s.cfg.WatchEvery); rounds == 0 {
				break
			}
			w.round(w.busy)
		}
		w.sweep()
	}
}

// round looks at some connections, which stay.
func (w *watcher) round(conns map[*Conn]struct{}) {
	patience := w.patience()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hangups.poll(func(id int64) { w.gone[id] = true })
	for c := range conns {
		w.look(c, patience)
	}
}

// sweep looks at all connections.
func (w *watcher) sweep() {
	patience := w.patience()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hangups.poll(func(id int64) { w.gone[id] = true })
	clear(w.busy)
	for c := range w.conns {
		if w.look(c, patience) {
			w.busy[c] = struct{}{}
		}
	}
	clear(w.gone)
	w.places.sweep(&w.cfg, time.Now())
}

// How long a client may take to accept a large reply while the replies of all take most of
// the memory that they share, and when they take more than that.
const (
	crowdedMax = 10 * time.Second
	tightMax   = time.Second
)

// patience is how long a client may take at this moment to accept a large reply.
func (s *Server) patience() time.Duration {
	switch st := s.cfg.Replies.Stats(); {
	case st.Used > st.Max:
		return min(s.cfg.WriteMax, tightMax)
	case st.Used > st.Max/8*7:
		return min(s.cfg.WriteMax, crowdedMax)
	}
	return s.cfg.WriteMax
}

// look is one look at a connection; it reports whether that is at work.
func (w *watcher) look(c *Conn, patience time.Duration) bool {
	c.gone = c.gone || len(w.gone) > 0 && w.gone[c.id]
	p := c.phase.Load()
	if p != c.watch.phase {
		c.watch = standstill{phase: p, since: w.clock}
		return p&phaseMask != reading
	}
	since := w.clock - c.watch.since
	switch p & phaseMask {
	case running:
		if c.gone && !c.outlives.Load() {
			c.cancel(wire.ErrClientGone)
		}
	case reading:
		if limit := w.silence(c, p); limit > 0 && since > limit {
			w.cfg.Log.Debug().Int64("conn", c.id).Msg("closing idle connection")
			c.nc.SetReadDeadline(past)
		}
		return false
	case writing:
		if since > w.cfg.WriteMax || since > patience && c.large.Load() > 0 {
			c.report("client does not take its reply; closing", os.ErrDeadlineExceeded)
			c.nc.SetWriteDeadline(past)
		}
	}
	return true
}

// silence is how long a connection may be in a phase of reading; 0 is for ever.
func (s *Server) silence(c *Conn, p uint64) time.Duration {
	limit := s.cfg.IdleMax
	lower := func(d time.Duration) {
		if d > 0 && (limit == 0 || d < limit) {
			limit = d
		}
	}
	if p/phaseStep <= 2 { // the first message, or the handshake and then that
		lower(s.cfg.FirstMax)
	}
	if c.stranger.Load() {
		lower(s.cfg.StrangerIdleMax)
	}
	return limit
}

// rawConn finds the socket below wrappers such as *tls.Conn.
func rawConn(nc net.Conn) net.Conn {
	for {
		w, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nc
		}
		nc = w.NetConn()
	}
}
