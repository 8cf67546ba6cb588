package server

import (
	"context"

	"github.com/cantledb/cantle/wire"
)

// Handler runs the commands of a server. Its methods are called from many goroutines,
// but for one connection never at the same time. wire/command implements it without
// knowing this package.
type Handler interface {
	// Connect is called before the first message. It may call c.SetState. An error
	// closes the connection; Disconnect is not called then.
	Connect(c wire.Conn) error

	// Handle runs the request m and writes the answer, errors of the command included,
	// into reply.Body().
	//
	// m and all it refers to are valid until Handle returns; nothing of it may be kept.
	// ctx belongs to the connection and is shared by its commands: it ends when the client
	// is gone or the server stops (context.Cause says which: wire.ErrClientGone,
	// wire.ErrShutdown, or what was given to Conn.Close). Handle must return soon after.
	//
	// The reply is not sent if !m.WantsReply(). If the request allows many replies
	// (ExhaustAllowed) and reply.More is set, the reply goes out and Handle is called again
	// with the same m, m.Repeat one higher.
	//
	// An error closes the connection without an answer; it is logged unless it is
	// wire.ErrHangUp.
	Handle(ctx context.Context, c wire.Conn, m *wire.Message, reply *wire.Reply) error

	// Disconnect is called once after the last message.
	Disconnect(c wire.Conn)
}
