package server

import (
	"net"
	"os"
	"time"

	"github.com/cantledb/cantle/wire"
)

// standstill is how long a connection has been in the same phase, in rounds of the watcher.
type standstill struct {
	phase  uint64
	rounds int
}

// watch looks at all connections now and then: interrupts commands whose client is gone
// and closes connections that are idle or stuck for too long. Doing that from here keeps
// timers and deadlines out of the path of every request.
func (s *Server) watch() {
	t := time.NewTicker(s.cfg.WatchEvery)
	defer t.Stop()
	defer func() {
		s.mu.Lock()
		s.hangups.close()
		s.mu.Unlock()
	}()
	gone := map[int64]bool{}
	for {
		select {
		case <-t.C:
		case <-s.stopping.Done():
			return
		}
		patience := s.patience()
		s.mu.Lock()
		s.hangups.poll(func(id int64) { gone[id] = true })
		for c := range s.conns {
			if len(gone) > 0 && gone[c.id] {
				c.gone = true
			}
			s.look(c, patience)
		}
		clear(gone)
		s.places.sweep(&s.cfg, time.Now())
		s.mu.Unlock()
	}
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

// look is one round for one connection.
func (s *Server) look(c *Conn, patience time.Duration) {
	p := c.phase.Load()
	if p != c.watch.phase {
		c.watch = standstill{phase: p}
		return
	}
	c.watch.rounds++
	since := time.Duration(c.watch.rounds) * s.cfg.WatchEvery
	switch p & phaseMask {
	case running:
		if c.gone {
			c.cancel(wire.ErrClientGone)
		}
	case reading:
		if limit := s.silence(c, p); limit > 0 && since > limit {
			s.cfg.Log.Debug().Int64("conn", c.id).Msg("closing idle connection")
			c.nc.SetReadDeadline(past)
		}
	case writing:
		if since > s.cfg.WriteMax || since > patience && c.large.Load() > 0 {
			c.report("client does not take its reply; closing", os.ErrDeadlineExceeded)
			c.nc.SetWriteDeadline(past)
		}
	}
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
