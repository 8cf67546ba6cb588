package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// Conn is the interface of a client connection for the code that runs commands. It is defined here
// because wire/command does not import wire/server, which implements it.
//
// State, SetState, SurviveDisconnect, HangUpAfterReply, NegotiateCompressors, SetUnauthenticated and ChargeTo may be
// called only by the goroutine that runs the connection's command.
type Conn interface {
	ID() int64         // counts up from 1 in this process
	Tag() string       // the name of its listener
	Remote() net.Addr  // the client
	Local() net.Addr   // the server's address
	Opened() time.Time // when it was accepted

	// State returns the value that SetState stored: data that the code running commands keeps for the connection,
	// such as its user.
	State() any
	SetState(v any)

	// Close interrupts the running command, if any, with cause, and closes the connection.
	// Safe to call from any goroutine.
	Close(cause error)

	// Draining returns a context that ends when the server begins to stop; its cause is a Stopping. After that,
	// running commands may finish, but a command that waits for an event should end, and the reply to hello announces
	// the stop. Safe to call from any goroutine.
	Draining() context.Context

	// SurviveDisconnect lets the running command continue if the client disconnects. To be called by the same
	// goroutine as State.
	SurviveDisconnect()

	// HangUpAfterReply closes the connection once the running command's reply is sent.
	HangUpAfterReply()

	// NegotiateCompressors is called by the command hello with the compression methods that the client offers. It
	// returns the methods that the connection may use; a message compressed by another method ends the connection.
	// Spec: compression/OP_COMPRESSED.
	NegotiateCompressors(offered Compressors) Compressors

	// SetUnauthenticated sets whether the client must log in and has not done so yet. Such a client may send only
	// small messages, and may not be silent for long. A new connection has no such limits until this call. To be
	// called by the same goroutine as State.
	SetUnauthenticated(yes bool)

	// ChargeTo sets the user to which large messages of this connection are charged from now on: each user has a
	// share of the memory for large messages. To be called by the same goroutine as State.
	ChargeTo(user string)

	// TLS returns the state of the TLS connection, nil if the connection is not encrypted.
	TLS() *tls.ConnectionState
}

// Stopping is the cause with which the context of Conn.Draining ends when the server begins to stop.
type Stopping struct {
	Until time.Time // the time at which the server accepts no more commands, at the latest
}

func (Stopping) Error() string { return ErrShutdown.Error() }

// The first two are causes with which the context of a connection ends; ErrHangUp is for handlers.
var (
	// ErrClientGone: the client closed the connection while its command ran.
	ErrClientGone = errors.New("client disconnected")
	// ErrShutdown: the server stops and does not wait any longer.
	ErrShutdown = errors.New("server is shutting down")
	// ErrHangUp is the error with which a handler closes a connection without a warning in the log.
	ErrHangUp = errors.New("hang up")
)
