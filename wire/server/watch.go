package server

import (
	"net"
	"os"
	"time"

	"github.com/cantledb/cantle/wire"
)

// watchedPhase holds the phase in which the watcher saw a connection, and since when this phase has lasted, on the
// watcher's clock.
type watchedPhase struct {
	phase uint64
	since time.Duration
}

// unseen is the phase of a connection that the watcher has not examined yet. The time of the connection's phase
// begins when the watcher first examines it, not at the start of the server.
const unseen = ^uint64(0)

// roundsPerSweep is the number of the watcher's rounds from one sweep, which examines all connections, to the next.
// The rounds between examine only connections that were busy at the sweep; if there were none, the watcher sleeps
// until the next sweep, so that ten thousand idle connections cost almost nothing.
const roundsPerSweep = 10

// watcher examines the connections of a server periodically: it interrupts commands whose client has disconnected,
// and closes connections that are idle or stuck for too long. So a request needs no timer and no deadline of its
// own.
type watcher struct {
	*Server
	// clock is the watcher's own time: the sum of the intervals between its rounds. It does not advance while the
	// process is suspended, so that connections do not seem idle afterwards.
	clock       time.Duration
	busy        map[*Conn]struct{} // busy at the last sweep
	clientsGone map[int64]bool     // clients that have closed their side since
}

// watch runs the watcher until the server stops.
func (s *Server) watch() {
	w := &watcher{Server: s, busy: map[*Conn]struct{}{}, clientsGone: map[int64]bool{}}
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

// round examines some connections.
func (w *watcher) round(conns map[*Conn]struct{}) {
	patience := w.writeTimeout()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hangups.poll(func(id int64) { w.clientsGone[id] = true })
	for c := range conns {
		w.examine(c, patience)
	}
}

// sweep examines all connections.
func (w *watcher) sweep() {
	patience := w.writeTimeout()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hangups.poll(func(id int64) { w.clientsGone[id] = true })
	clear(w.busy)
	for c := range w.conns {
		if w.examine(c, patience) {
			w.busy[c] = struct{}{}
		}
	}
	clear(w.clientsGone)
	w.addressLimits.sweep(&w.cfg, time.Now())
}

// The time that a client has to accept a large reply: nearFullTimeout while the replies of all connections use more
// than seven eighths of their shared memory, overfullTimeout while they use more than all of it.
const (
	nearFullTimeout = 10 * time.Second
	overfullTimeout = time.Second
)

// writeTimeout returns the time that a client has to accept a large reply, by the present use of the memory for
// replies.
func (s *Server) writeTimeout() time.Duration {
	switch st := s.cfg.Replies.Stats(); {
	case st.Used > st.Max:
		return min(s.cfg.WriteMax, overfullTimeout)
	case st.Used > st.Max/8*7:
		return min(s.cfg.WriteMax, nearFullTimeout)
	}
	return s.cfg.WriteMax
}

// examine interrupts the command of a connection whose client has disconnected, and closes a connection that has been
// idle, or whose client has not accepted a reply, for too long; patience is the limit for a large reply. It reports
// whether the connection is busy: whether it runs a command or sends a reply.
func (w *watcher) examine(c *Conn, patience time.Duration) bool {
	c.clientGone = c.clientGone || len(w.clientsGone) > 0 && w.clientsGone[c.id]
	p := c.phase.Load()
	if p != c.watched.phase {
		c.watched = watchedPhase{phase: p, since: w.clock}
		return p&phaseMask != reading
	}
	since := w.clock - c.watched.since
	switch p & phaseMask {
	case running:
		if c.clientGone && !c.survivesDisconnect.Load() {
			c.cancel(wire.ErrClientGone)
		}
	case reading:
		if limit := w.readTimeout(c, p); limit > 0 && since > limit {
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

// readTimeout returns the time after which a connection in the phase p, of reading, is closed; 0 means no limit.
func (s *Server) readTimeout(c *Conn, p uint64) time.Duration {
	limit := s.cfg.IdleMax
	lower := func(d time.Duration) {
		if d > 0 && (limit == 0 || d < limit) {
			limit = d
		}
	}
	if p/phaseStep <= 2 { // the first message, or the handshake and then the first message
		lower(s.cfg.FirstMax)
	}
	if c.unauthenticated.Load() {
		lower(s.cfg.UnauthenticatedIdleMax)
	}
	return limit
}

// rawConn returns the socket below wrappers such as *tls.Conn.
func rawConn(nc net.Conn) net.Conn {
	for {
		w, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nc
		}
		nc = w.NetConn()
	}
}
