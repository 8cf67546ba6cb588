package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
)

// The state of a connection's goroutine: the low bits of Conn.phase.
const (
	reading uint64 = iota
	running
	writing

	phaseMask = 3
	phaseStep = 4 // step of the phase number; none is used twice, so that the watcher can detect a standstill
)

// Conn is one client connection; it implements wire.Conn.
type Conn struct {
	id            int64
	tag           string
	remote, local net.Addr
	opened        time.Time
	state         any // belongs to the handler

	server *Server
	nc     net.Conn // the socket, for deadlines and closing
	stream net.Conn // to read and write: nc, or TLS over it
	ctx    context.Context
	cancel context.CancelCauseFunc

	phase      atomic.Uint64 // the state of the goroutine, and a count of changes
	watched    watchedPhase  // used by the watcher only
	clientGone bool          // the client has closed its side; used by the watcher only

	// wait is the longest time for which a new connection waits for its turn under the connection rate limit; its
	// turn comes earlier if the channel turn is closed. If turn is nil, the connection does not wait.
	wait time.Duration
	turn <-chan struct{}

	// unauthenticated means that the client must log in and has not done so yet, so that its messages and its silence
	// have lower limits.
	unauthenticated atomic.Bool

	// large is the size in bytes of a large reply in the shared memory for replies, while the reply is sent;
	// otherwise 0.
	large atomic.Int64

	// streams means that the running command answers an exhaust request (one request, many replies), as drivers send
	// hello to receive changes. Such a command may last as long as its connection, so a shutdown interrupts it at once.
	streams atomic.Bool

	// survivesDisconnect means that the running command continues if its client disconnects.
	survivesDisconnect atomic.Bool

	reader *wire.Reader
	reply  *wire.Reply
	msg    wire.Message
	sent   int32 // id of the last message sent
	hangUp bool  // close after the reply
}

func newConn(ctx context.Context, s *Server, nc net.Conn, tag string) *Conn {
	c := &Conn{tag: tag, remote: nc.RemoteAddr(), local: nc.LocalAddr(), opened: time.Now(), server: s, nc: nc, stream: wire.NewSocket(nc), watched: watchedPhase{phase: unseen}}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c
}

// ID implements wire.Conn.
func (c *Conn) ID() int64 { return c.id }

// Tag implements wire.Conn.
func (c *Conn) Tag() string { return c.tag }

// Remote implements wire.Conn.
func (c *Conn) Remote() net.Addr { return c.remote }

// Local implements wire.Conn.
func (c *Conn) Local() net.Addr { return c.local }

// Opened implements wire.Conn.
func (c *Conn) Opened() time.Time { return c.opened }

// State implements wire.Conn.
func (c *Conn) State() any { return c.state }

// SetState implements wire.Conn.
func (c *Conn) SetState(v any) { c.state = v }

// Close implements wire.Conn.
func (c *Conn) Close(cause error) {
	c.cancel(cause)
	c.nc.SetReadDeadline(past)
}

// SurviveDisconnect implements wire.Conn.
func (c *Conn) SurviveDisconnect() { c.survivesDisconnect.Store(true) }

// HangUpAfterReply implements wire.Conn.
func (c *Conn) HangUpAfterReply() { c.hangUp = true }

// Draining see wire.Conn.
func (c *Conn) Draining() context.Context { return c.server.stopping }

// NegotiateCompressors implements wire.Conn.
func (c *Conn) NegotiateCompressors(offered wire.Compressors) wire.Compressors {
	c.reader.Accept = offered & c.server.cfg.Compressors
	return c.reader.Accept
}

// TLS implements wire.Conn.
func (c *Conn) TLS() *tls.ConnectionState {
	t, ok := c.stream.(*tls.Conn)
	if !ok {
		return nil
	}
	st := t.ConnectionState()
	return &st
}

// SetUnauthenticated implements wire.Conn.
func (c *Conn) SetUnauthenticated(yes bool) {
	c.unauthenticated.Store(yes)
	c.reader.BytesMax = wire.MessageSizeMax
	if yes {
		c.reader.BytesMax = min(c.server.cfg.UnauthenticatedBytesMax, wire.MessageSizeMax)
	}
}

// ChargeTo implements wire.Conn.
func (c *Conn) ChargeTo(user string) { c.reader.ChargeTo(user) }

// enter begins a phase.
func (c *Conn) enter(p uint64) {
	c.phase.Store((c.phase.Load() &^ phaseMask) + phaseStep + p)
}

// serve is the goroutine of the connection.
func (c *Conn) serve() {
	s := c.server
	defer s.remove(c)
	defer c.nc.Close()
	defer c.cancel(wire.ErrClientGone)
	if !c.await() {
		return
	}
	if err := c.secure(); err != nil {
		if !errors.Is(err, wire.ErrHangUp) {
			c.report("connection closed", err)
		}
		return
	}
	s.cfg.Log.Debug().Int64("conn", c.id).Stringer("remote", c.remote).Str("listener", c.tag).Msg("connection accepted")
	c.end(c.serveMessages())
}

// serveMessages serves the connection between the handshake and the close.
func (c *Conn) serveMessages() error {
	s := c.server
	c.reader = wire.NewReader(c.stream, &s.pool)
	c.reader.Accept, c.reader.Lanes = s.cfg.Compressors, s.cfg.Lanes
	c.reader.Cut = func() { c.nc.SetReadDeadline(past) }
	c.reply = wire.NewReply(&s.pool)
	defer c.reader.ChargeTo("")
	defer c.reader.Release()
	defer c.reply.Release()
	if err := s.handler.Connect(c); err != nil {
		c.report("connection refused", err)
		return wire.ErrHangUp
	}
	defer s.handler.Disconnect(c)
	return c.loop()
}

// end logs why the connection ends, and closes TLS properly.
func (c *Conn) end(err error) {
	s := c.server
	switch {
	case err == nil, err == io.EOF, errors.Is(err, wire.ErrHangUp), s.draining.Load(), errors.Is(err, net.ErrClosed):
		s.cfg.Log.Debug().Int64("conn", c.id).Msg("connection ended")
	case errors.Is(err, wire.ErrHTTP):
		io.WriteString(c.stream, wire.HTTPAnswer)
		s.cfg.Log.Debug().Int64("conn", c.id).Msg("HTTP client answered")
	case errors.Is(err, io.ErrUnexpectedEOF), isNetwork(err):
		s.cfg.Log.Debug().Int64("conn", c.id).Err(err).Msg("connection lost")
	default:
		c.report("connection closed", err)
	}
	if t, ok := c.stream.(*tls.Conn); ok {
		c.nc.SetWriteDeadline(time.Now().Add(closeMax))
		t.Close() // sends close_notify
	}
}

// closeMax is the timeout for closing an encrypted connection.
const closeMax = time.Second

// report logs why a connection ends or is refused, unless too many lines were already logged in this second.
func (c *Conn) report(what string, err error) {
	missed, ok := c.server.closeLog.Admit(time.Now())
	if !ok {
		return
	}
	e := c.server.cfg.Log.Warn().Int64("conn", c.id).Stringer("remote", c.remote).Err(err)
	if missed > 0 {
		e = e.Int64("notLogged", missed)
	}
	e.Msg(what)
}

// isNetwork reports whether err is an error of the connection itself.
func isNetwork(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, os.ErrDeadlineExceeded)
}

// loop reads and answers messages until the connection must be closed.
func (c *Conn) loop() error {
	for !c.hangUp && !c.server.draining.Load() {
		c.enter(reading)
		err := c.reader.Read(&c.msg)
		if c.ctx.Err() != nil {
			return wire.ErrHangUp
		}
		refused, err := c.refuse(err)
		if err != nil {
			return err
		}
		if refused != nil {
			err = c.answerError(refused)
		} else {
			err = c.answer()
		}
		c.reader.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// refuse checks a message that was read, or failed to be read with err, before a handler sees it. The first result
// is an error with which to answer the client; the second is an error that closes the connection; if both are nil,
// the handler runs.
func (c *Conn) refuse(err error) (*mongoerr.Error, error) {
	if err != nil {
		var clientError *mongoerr.Error
		if errors.As(err, &clientError) {
			return clientError, nil
		}
		return nil, err
	}
	m := &c.msg
	switch m.Header.OpCode {
	case wire.OpMsg:
		return nil, nil
	case wire.OpQuery:
		if m.IsHello() {
			return nil, nil
		}
		if f, ok := m.Body.First(); ok && len(m.Namespace) > 5 && string(m.Namespace[len(m.Namespace)-5:]) == ".$cmd" {
			if c.server.cfg.QueryCommands(c.tag) || string(f.Name) == "saslStart" || string(f.Name) == "saslContinue" {
				return nil, nil // old clients log in by OP_QUERY
			}
			return mongoerr.New(mongoerr.UnsupportedOpQueryCommand,
				"Unsupported OP_QUERY command: %s. The client driver may require an upgrade.", f.Name), nil
		}
		return mongoerr.New(5739101, "OP_QUERY is no longer supported. The client driver may require an upgrade."), nil
	case wire.OpGetMore:
		if m.Body != nil && c.server.cfg.QueryCommands(c.tag) {
			return nil, nil
		}
		return mongoerr.New(5739101, "OP_GET_MORE is no longer supported. The client driver may require an upgrade."), nil
	case wire.OpKillCursors:
		if m.Body != nil && c.server.cfg.QueryCommands(c.tag) {
			return nil, nil
		}
		return nil, errors.New("OP_KILL_CURSORS is no longer supported")
	case wire.OpInsert, wire.OpUpdate, wire.OpDelete:
		return nil, errors.New(m.Header.OpCode.String() + " is no longer supported")
	}
	return nil, errors.New("invalid " + m.Header.OpCode.String())
}

// answer runs the request and sends its reply, or its replies if it is an exhaust request.
func (c *Conn) answer() error {
	to := c.msg.Header.RequestID
	defer c.streams.Store(false)
	defer c.survivesDisconnect.Store(false)
	if c.server.stopping.Err() != nil && !c.msg.IsHello() {
		c.server.lateCommands.Add(1)
	}
	for {
		c.enter(running)
		c.reply.Start(&c.msg)
		if c.reply.Exhausts() {
			// The order prevents that both sides miss each other: streams is stored before draining is read, and
			// Shutdown stores draining before it reads streams.
			c.streams.Store(true)
			if c.server.draining.Load() {
				c.cancel(wire.ErrShutdown)
			}
		}
		if err := c.handle(); err != nil {
			return err
		}
		if !c.msg.WantsReply() {
			c.reply.Release()
			return nil
		}
		more := c.reply.More && c.reply.Exhausts() && !c.hangUp
		c.reply.More = more
		if !more {
			c.reader.Release() // the client may be slow to take the reply
		}
		if err := c.send(to); err != nil {
			return err
		}
		if !more {
			return nil
		}
		if c.server.draining.Load() || c.ctx.Err() != nil {
			return wire.ErrHangUp // the client waits for more replies, so close the connection
		}
		c.msg.Repeat++
		to = c.sent // each reply of a stream answers the one before
	}
}

// answerError sends the error e as the reply, unless the client expects no reply.
func (c *Conn) answerError(e *mongoerr.Error) error {
	if !c.msg.WantsReply() {
		return nil
	}
	c.reply.Start(&c.msg)
	c.fail(e)
	return c.send(c.msg.Header.RequestID)
}

// fail writes the error e into the body of a reply that was just started.
func (c *Conn) fail(e *mongoerr.Error) {
	c.reply.Fail()
	c.reply.Body().Splice(e.AppendTo(nil))
}

// handle calls the handler with the request. If the handler panics, the client gets InternalError, and the
// connection closes after that reply.
func (c *Conn) handle() error {
	defer func() {
		if p := recover(); p != nil {
			c.server.cfg.Defects.Panic("command "+commandOf(&c.msg), p, debug.Stack())
			c.hangUp = true
			c.reply.Start(&c.msg)
			c.fail(mongoerr.New(mongoerr.InternalError, "an internal error occurred"))
		}
	}()
	return c.server.handler.Handle(c.ctx, c, &c.msg, c.reply)
}

// commandOf returns the name of the command in a message, cut to 64 bytes, for the record of a panic.
func commandOf(m *wire.Message) string {
	f, _ := m.Body.First()
	return string(f.Name[:min(len(f.Name), 64)])
}

// send writes the finished reply in one piece.
func (c *Conn) send(to int32) error {
	c.enter(writing)
	c.sent++
	b, err := c.reply.Finish(c.sent, to)
	if err != nil {
		return err
	}
	if len(b) > wire.MessageSizeMax {
		return errors.New("BUG: reply is longer than a message may be")
	}
	c.large.Store(c.reply.Large())
	_, err = c.stream.Write(b)
	c.large.Store(0)
	c.reply.Release()
	return err
}
