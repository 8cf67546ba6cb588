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

// Config holds the settings of a server. The zero Config means the defaults.
type Config struct {
	Log         zerolog.Logger
	Defects     *defects.Journal // logs panics of commands; nil is a journal without files
	ConnsMax    int              // further connections are closed at once; default 65,536
	IdleMax     time.Duration    // silence after which a connection is closed; default none, as in MongoDB
	WriteMax    time.Duration    // time a client may take to accept a reply; default 5 minutes
	FirstMax    time.Duration    // silence before the first message, TLS handshake included; default 1 minute
	WatchEvery  time.Duration    // interval at which busy connections are examined; default 50 ms
	Compressors wire.Compressors // compression methods that clients may use; default none

	// AddressConnsMax bounds the connections of one address, and AddressRate those that it may open per second, with
	// twice as many at once; 0 means no limit. All addresses of an IPv6 /64 count as one. If AddressRate is 0,
	// RemoteRate applies to all but loopback addresses.
	AddressConnsMax int
	AddressRate     int
	RemoteRate      int
	// UnauthenticatedBytesMax and UnauthenticatedIdleMax bound the size of messages and the silence of connections
	// that must log in and have not; default 64 KiB and 5 minutes.
	UnauthenticatedBytesMax int
	UnauthenticatedIdleMax  time.Duration

	// Lanes, if not nil, is a semaphore that bounds how many connections parse large messages at the same time; the
	// server's other long computations use it too.
	Lanes *ratelimit.Semaphore

	// Messages and Replies are the memory limits for large messages and for large replies of all connections
	// together; nil means no limit.
	Messages, Replies *ratelimit.Memory

	// QueryCommands reports whether the clients of a listener, given by its tag, may send every command as an
	// OP_QUERY, with OP_GET_MORE and OP_KILL_CURSORS, as drivers older than OP_MSG do. nil means that no listener
	// allows it. On all other listeners only hello may be an OP_QUERY.
	QueryCommands func(tag string) bool

	// TLS selects which connections are encrypted; TLSConfig returns the current certificates. Connections over Unix
	// sockets are never encrypted.
	TLS       TLSMode
	TLSConfig func() *tls.Config
}

// Server accepts and serves the connections of one process. Safe for concurrent use.
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
	// stopping is a context that ends when the server begins to stop; its cause is a wire.Stopping.
	stopping context.Context
	stop     context.CancelCauseFunc
	// lateCommands counts commands other than hello that began since then.
	lateCommands atomic.Int64
	// drained is closed when draining begins, which ends the watcher.
	drained chan struct{}

	rejected        atomic.Int64
	addressLimits   addressLimits   // guarded by mu
	connRateLimiter connRateLimiter // guarded by mu
	closeLog        wire.LogRate
}

// New returns a server that passes the messages of clients to h. It accepts connections after a call of Serve.
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
	if cfg.UnauthenticatedBytesMax == 0 {
		cfg.UnauthenticatedBytesMax = 64 << 10
	}
	if cfg.UnauthenticatedIdleMax == 0 {
		cfg.UnauthenticatedIdleMax = 5 * time.Minute
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

// Stats returns the current counts.
func (s *Server) Stats() wire.ConnStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := wire.ConnStats{Current: len(s.conns), Queued: s.connRateLimiter.queued, Total: s.nextID.Load(), Rejected: s.rejected.Load(),
		TooFast: s.connRateLimiter.refused}
	st.Free = s.cfg.ConnsMax - st.Current
	for c := range s.conns {
		if c.phase.Load()&phaseMask == running {
			st.Active++
		}
	}
	return st
}

// Each calls f for every open connection, until f returns false. f must not block, because the server is locked.
func (s *Server) Each(f func(c wire.Conn) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if !f(c) {
			return
		}
	}
}

// Serve accepts connections from l until l is closed, ctx ends or Shutdown is called, and closes l. tag becomes the
// result of wire.Conn.Tag. ctx is the parent of the connections' contexts: when it ends, running commands are
// interrupted. Several listeners can be served at the same time. Serve returns before its connections end; Shutdown
// waits for them.
//
// Errors: nil after Shutdown or the end of ctx, otherwise net.ErrClosed.
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
			// Accept may fail for a time, for example because file descriptors have run out, so it is retried.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			if _, ok := s.closeLog.Admit(time.Now()); ok {
				s.cfg.Log.Warn().Err(err).Dur("pause", pause).Msg("accepting a connection failed; it is retried after a pause")
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

// addListener registers l, so that Shutdown closes it, and starts the watcher. It returns false after Shutdown.
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

// start registers a new connection and starts its goroutine. It returns false if there are too many connections in
// total or from the address, if too many wait for their turn under the connection rate limit, or if the server stops.
func (s *Server) start(ctx context.Context, nc net.Conn, tag string) bool {
	c := newConn(ctx, s, nc, tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return false
	}
	if len(s.conns) >= s.cfg.ConnsMax {
		if s.rejected.Add(1) == 1 {
			s.cfg.Log.Warn().Int("limit", s.cfg.ConnsMax).Msg("--max-connections is reached: new connections are closed")
		}
		return false
	}
	if !s.addressLimits.enter(c.remote, &s.cfg, c.opened) {
		s.rejected.Add(1)
		c.report("connection refused", errors.New("too many from one address"))
		return false
	}
	wait, ok := s.connRateLimiter.enter(c.opened)
	if !ok {
		s.addressLimits.leave(c.remote, &s.cfg)
		c.report("connection refused", errors.New("too many at once"))
		return false
	}
	if wait > 0 {
		c.wait, c.turn = wait, s.connRateLimiter.changed
	}
	c.id = s.nextID.Add(1)
	s.conns[c] = struct{}{}
	s.hangups.add(nc, c.id)
	s.wg.Go(c.serve)
	return true
}

// remove unregisters a connection that ended.
func (s *Server) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.addressLimits.leave(c.remote, &s.cfg)
}

// Quiesce makes the clients of s change to other servers before Shutdown: the replies to hello announce the stop,
// and commands that wait for an event end (wire.Conn.Draining). All other commands run as before, for clients that
// have not received the announcement yet. Quiesce returns when no client is connected, when no command has run for
// the duration quiet and none but hello has arrived, or when ctx ends. Manual: reference/command/shutdown.
func Quiesce(ctx context.Context, s *Server, quiet time.Duration) {
	s.stopBy(ctx)
	look := time.NewTicker(max(quiet/10, time.Millisecond))
	defer look.Stop()
	for since, worked := time.Now(), s.lateCommands.Load(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			st := s.Stats()
			if n := s.lateCommands.Load(); n != worked || st.Active > 0 {
				since, worked = now, n
			}
			if st.Current == 0 || now.Sub(since) >= quiet {
				return
			}
		}
	}
}

// stopBy announces to running commands that the server stops, at the latest at the deadline of ctx, or now if there is
// none.
func (s *Server) stopBy(ctx context.Context) {
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now()
	}
	s.stop(wire.Stopping{Until: until})
}

// goodbyeMax is the time that Shutdown leaves interrupted commands for sending their error to their clients.
const goodbyeMax = time.Second

// Shutdown stops accepting connections, closes idle ones, interrupts exhaust requests, and waits until the other
// running commands have finished and their replies are sent. If ctx ends first, it interrupts them too, so that their
// clients receive an error, and closes the connections a second later. Shutdown may be called again, also while
// another call waits.
//
// Errors: ctx.Err() if ctx ended first.
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
		// A blocked read returns at once; a connection with a running command ends at its next read.
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

// past is a deadline in the past.
var past = time.Unix(1, 0)
