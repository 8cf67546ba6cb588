package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/defects"
)

// Config is how a server behaves. The zero Config has defaults for all.
type Config struct {
	Log         zerolog.Logger
	Defects     *defects.Journal // notes panics of commands; nil is one without files
	ConnsMax    int              // further connections are closed at once; default 65,536
	IdleMax     time.Duration    // silence before a connection is closed; default none, as MongoDB
	WriteMax    time.Duration    // time a client may take to accept a reply; default 5 minutes
	FirstMax    time.Duration    // silence before the first message, TLS handshake included; default 1 minute
	WatchEvery  time.Duration    // how often connections at work are looked at; default 50 ms
	Compressors wire.Compressors // methods a client may use; default none

	// AddressConnsMax bounds the connections of one address, AddressRate how many it
	// may open per second, with twice as many at once; 0 is no bound. The addresses
	// of an IPv6 /64 count as one. RemoteRate is AddressRate for the addresses of other
	// machines, where that is 0.
	AddressConnsMax int
	AddressRate     int
	RemoteRate      int
	// StrangerBytesMax and StrangerIdleMax bound the messages and the silence of
	// connections nobody has logged in on; default 64 KiB and 5 minutes.
	StrangerBytesMax int
	StrangerIdleMax  time.Duration

	// Lanes, if not nil, are shared by connections that take large messages apart, and
	// by whatever else computes for long.
	Lanes *ratelimit.Lanes

	// Messages and Replies are the memory that large messages and large replies of all
	// connections share; nil has no end.
	Messages, Replies *ratelimit.Memory

	// QueryCommands reports the listeners, by their tag, whose clients may send every command
	// as an OP_QUERY, with OP_GET_MORE and OP_KILL_CURSORS, as drivers do that are older than
	// OP_MSG; nil is none. Otherwise only their first hello may be one.
	QueryCommands func(tag string) bool

	// TLS says which connections are encrypted; TLSConfig gives the certificates to
	// use from now on. Sockets without a network are never encrypted.
	TLS       TLSMode
	TLSConfig func() *tls.Config
}

// Server is the set of connections of one process. Safe for concurrent use.
type Server struct {
	handler Handler
	cfg     Config
	pool    wire.Pool

	wg     sync.WaitGroup // connections and the watcher
	nextID atomic.Int64

	mu        sync.Mutex
	conns     map[*Conn]struct{}
	listeners map[net.Listener]struct{}
	draining  atomic.Bool
	watching  bool
	hangups   *hangups // nil before the watcher starts
	// stopping ends when the server begins to stop, with wire.Stopping as its cause.
	stopping context.Context
	stop     context.CancelCauseFunc
	// worked counts commands that began since then; hello is none.
	worked atomic.Int64
	// drained is closed when draining begins: the watcher ends.
	drained chan struct{}

	rejected  atomic.Int64
	places    places    // guarded by mu
	turnstile turnstile // guarded by mu
	closeLog  wire.LogRate
}

// New makes a server that hands messages to h. It does nothing until Serve.
func New(h Handler, cfg Config) *Server {
	if cfg.Defects == nil {
		cfg.Defects = &defects.Journal{Log: cfg.Log}
	}
	if cfg.ConnsMax == 0 {
		cfg.ConnsMax = 65_536
	}
	if cfg.WriteMax == 0 {
		cfg.WriteMax = 5 * time.Minute
	}
	if cfg.FirstMax == 0 {
		cfg.FirstMax = time.Minute
	}
	if cfg.StrangerBytesMax == 0 {
		cfg.StrangerBytesMax = 64 << 10
	}
	if cfg.StrangerIdleMax == 0 {
		cfg.StrangerIdleMax = 5 * time.Minute
	}
	if cfg.QueryCommands == nil {
		cfg.QueryCommands = func(string) bool { return false }
	}
	if cfg.WatchEvery == 0 {
		cfg.WatchEvery = 50 * time.Millisecond
	}
	s := &Server{
		handler:   h,
		cfg:       cfg,
		conns:     map[*Conn]struct{}{},
		listeners: map[net.Listener]struct{}{},
		drained:   make(chan struct{}),
	}
	s.pool.Messages, s.pool.Replies = cfg.Messages, cfg.Replies
	s.stopping, s.stop = context.WithCancelCause(context.Background())
	return s
}

// Stats returns the numbers of this moment.
func (s *Server) Stats() wire.ConnStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := wire.ConnStats{Current: len(s.conns), Queued: s.turnstile.queued, Total: s.nextID.Load(), Rejected: s.rejected.Load(),
		TooFast: s.turnstile.refused}
	st.Free = s.cfg.ConnsMax - st.Current
	for c := range s.conns {
		if c.phase.Load()&phaseMask == running {
			st.Active++
		}
	}
	return st
}

// Each calls f for the open connections until it returns false. f must not block.
func (s *Server) Each(f func(c wire.Conn) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if !f(c) {
			return
		}
	}
}

// Serve accepts connections from l until l fails or Shutdown, and closes l. tag names the
// listener in wire.Conn.Tag. ctx is the parent of the connections' contexts; when it ends, l
// is closed and running commands are interrupted. Several listeners can be served at
// once. Serve returns before its connections end; Shutdown waits for them.
//
// Errors: nil after Shutdown or the end of ctx, else what l said.
func (s *Server) Serve(ctx context.Context, l net.Listener, tag string) error {
	defer l.Close()
	if !s.addListener(l) {
		return nil
	}
	defer s.removeListener(l)
	defer context.AfterFunc(ctx, func() { l.Close() })()

	for pause := time.Duration(0); ; {
		nc, err := l.Accept()
		if err != nil {
			if s.draining.Load() || ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			// Out of file descriptors or the like: it passes, so do not give up.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			if _, ok := s.closeLog.Admit(time.Now()); ok {
				s.cfg.Log.Warn().Err(err).Dur("pause", pause).Msg("no connection can be accepted; trying again after a pause")
			}
			time.Sleep(pause)
			continue
		}
		pause = 0
		if !s.start(ctx, nc, tag) {
			nc.Close()
		}
	}
}

// addListener remembers l and starts the watcher. False after Shutdown.
func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return false
	}
	s.listeners[l] = struct{}{}
	if !s.watching {
		s.watching, s.hangups = true, newHangups()
		s.wg.Go(s.watch)
	}
	return true
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

// start begins a connection's goroutine. False if there are too many or the server stops.
func (s *Server) start(ctx context.Context, nc net.Conn, tag string) bool {
	c := newConn(ctx, s, nc, tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return false
	}
	if len(s.conns) >= s.cfg.ConnsMax {
		if s.rejected.Add(1) == 1 {
			s.cfg.Log.Warn().Int("limit", s.cfg.ConnsMax).Msg("more connections than --max-connections: new ones are closed")
		}
		return false
	}
	if !s.places.enter(c.remote, &s.cfg, c.opened) {
		s.rejected.Add(1)
		c.report("connection refused", errors.New("too many from one address"))
		return false
	}
	wait, ok := s.turnstile.enter(c.opened)
	if !ok {
		s.places.leave(c.remote, &s.cfg)
		c.report("connection refused", errors.New("too many at once"))
		return false
	}
	if wait > 0 {
		c.wait, c.turn = wait, s.turnstile.changed
	}
	c.id = s.nextID.Add(1)
	s.conns[c] = struct{}{}
	s.hangups.add(nc, c.id)
	s.wg.Go(c.serve)
	return true
}

// remove forgets a connection that ended.
func (s *Server) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.places.leave(c.remote, &s.cfg)
}

// Quiesce has clients go to other servers before Shutdown: hello tells them that this one
// stops, commands that wait for something that may never come end (wire.Conn.Draining), and all
// else is done as before, for those who have not heard of it yet. It returns when nobody is
// connected, when no command runs and none but hello has come for quiet, or when ctx ends.
// Manual: reference/command/shutdown.
func Quiesce(ctx context.Context, s *Server, quiet time.Duration) {
	s.stopBy(ctx)
	look := time.NewTicker(max(quiet/10, time.Millisecond))
	defer look.Stop()
	for since, worked := time.Now(), s.worked.Load(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			st := s.Stats()
			if n := s.worked.Load(); n != worked || st.Active > 0 {
				since, worked = now, n
			}
			if st.Current == 0 || now.Sub(since) >= quiet {
				return
			}
		}
	}
}

// stopBy tells running commands that the server stops, at the end of ctx at the latest.
func (s *Server) stopBy(ctx context.Context) {
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now()
	}
	s.stop(wire.Stopping{Until: until})
}

// goodbyeMax is how long interrupted commands have to tell their clients why they ended.
const goodbyeMax = time.Second

// Shutdown stops accepting, closes idle connections and waits for running commands to
// finish and their replies to be written. When ctx ends first, commands are interrupted,
// their clients are told, and connections are cut a second later. It may be called again and
// while another call waits.
//
// Errors: ctx.Err() if commands had to be interrupted.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopBy(ctx)
	s.mu.Lock()
	if !s.draining.Swap(true) {
		close(s.drained)
	}
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		// A blocked read returns at once; a running command notices at its next read.
		c.nc.SetReadDeadline(past)
		if c.streams.Load() {
			c.cancel(wire.ErrShutdown)
		}
	}
	s.mu.Unlock()

	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.each(func(c *Conn) { c.cancel(wire.ErrShutdown) })
	select {
	case <-done:
	case <-time.After(goodbyeMax):
		s.each(func(c *Conn) { c.nc.Close() })
		<-done // handlers promise to end soon after their context
	}
	return ctx.Err()
}

// each calls f for the open connections.
func (s *Server) each(f func(c *Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}

// past is a deadline that is over.
var past = time.Unix(1, 0)
