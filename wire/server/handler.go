package server

import (
	"context"

	"github.com/cantledb/cantle/wire"
)

// Handler runs the commands of clients for a Server. Its methods are called from many goroutines, but for one
// connection only by one at a time. wire/command implements it without importing this package.
type Handler interface {
	// Connect is called before the first message of a connection. It may call c.SetState. If it returns an error, the
	// connection is closed, and Disconnect is not called.
	Connect(c wire.Conn) error

	// Handle runs the request m and writes the answer, errors of the command included, into
	// reply.Body().
	//
	// m and everything it refers to are valid until Handle returns; nothing of it may be kept. ctx belongs to the
	// connection and is shared by its commands: it ends when the client has disconnected (unless c.SurviveDisconnect was
	// called) or the server stops (context.Cause returns the reason: wire.ErrClientGone, wire.ErrShutdown, or the cause
	// passed to Conn.Close). Handle must return soon after.
	//
	// The reply is not sent if !m.WantsReply(). If the request allows many replies
	// (ExhaustAllowed) and reply.More is set, the reply is sent and Handle is called again
	// with the same m, with m.Repeat increased by one.
	//
	// An error closes the connection without an answer. It is logged as a warning unless it is
	// wire.ErrHangUp or an error of the network.
	Handle(ctx context.Context, c wire.Conn, m *wire.Message, reply *wire.Reply) error

	// Disconnect is called once after the last message.
	Disconnect(c wire.Conn)
}
