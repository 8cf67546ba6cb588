package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// Conn is what those who run commands see of a client connection. It stands here, below
// both, because wire/command does not know wire/server, which implements it.
//
// State, SetState, Agree, Outlive and HangUpAfterReply may be called only by the goroutine that runs
// the connection's command.
type Conn interface {
	ID() int64         // counts up from 1 in this process
	Tag() string       // the name its listener was given
	Remote() net.Addr  // the client
	Local() net.Addr   // our side
	Opened() time.Time // when it was accepted

	// State returns what SetState was given: whatever the handler keeps per connection.
	State() any
	SetState(v any)

	// Close interrupts the running command, if any, with cause, and closes the connection.
	// Safe to call from any goroutine.
	Close(cause error)

	// Draining ends when the server begins to stop: running commands may finish, but
	// one that waits for something that may never come should not go on, and hello says
	// so. Its cause is a Stopping. Safe to call from any goroutine.
	Draining() context.Context

	// Outlive lets the running command go on when the client disconnects. Called as State.
	Outlive()

	// HangUpAfterReply closes the connection once the running command's reply is sent.
	HangUpAfterReply()

	// Agree is called by hello with the methods the client offers. It returns those the
	// connection may use; messages compressed otherwise end it.
	// Spec: compression/OP_COMPRESSED.
	Agree(offered Compressors) Compressors

	// SetStranger says whether nobody has logged in yet where somebody has to: a
	// stranger may send only small messages, and not be silent for long. A connection
	// begins as none. Called as State.
	SetStranger(yes bool)

	// CountFor says whose large messages come on this connection from now on: users
	// have shares of the memory for them. Called as State.
	CountFor(user string)

	// TLS returns the state of an encrypted connection, nil if it is not.
	TLS() *tls.ConnectionState
}

// Stopping is the cause with which Conn.Draining ends.
type Stopping struct {
	Until time.Time // when the server takes no more commands at the latest
}

func (Stopping) Error() string { return ErrShutdown.Error() }

// Causes of the end of a connection's context, and ErrHangUp for handlers.
var (
	// ErrClientGone: the client closed the connection while its command ran.
	ErrClientGone = errors.New("client disconnected")
	// ErrShutdown: the server stops and does not wait any longer.
	ErrShutdown = errors.New("server is shutting down")
	// ErrHangUp is what a handler returns to close a connection on purpose and silently.
	ErrHangUp = errors.New("hang up")
)
