package command

import (
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/session"
)

// A client whose connection string has loadBalanced=true has one address for any number of servers, and does
// not monitor them. It uses a cursor or a transaction only through the connection on which that began, so
// after the connection is closed no client can use them any more. Spec: load-balancers.

// bound is the last transaction that began on a balanced connection; such a connection has at most one open.
type bound struct {
	id    session.ID
	begun time.Time
}

// bind stores the transaction that the command has begun.
func (c *Call) bind() {
	if c.Peer.Balanced {
		c.Peer.bound = bound{c.Args.ID, c.Session.Begun()}
	}
}

// unbind ends the cursors and the transaction of a closed balanced connection.
func (s *Server) unbind(conn int64, p *Peer) {
	if !p.Balanced {
		return
	}
	s.Cursors.KillConn(conn)
	if !p.bound.id.IsZero() {
		s.Sessions.Abandon(p.bound.id, p.bound.begun)
	}
}

// sendAway refuses reads and writes on a balanced connection of a draining server, unless they continue a
// cursor or a transaction: such a client gets no hello that reports the shutdown. After the error the client
// closes all its connections to this server, and retries on a new connection what may be retried.
// Errors: ShutdownInProgress (91).
func (c *Call) sendAway() error {
	begins := c.Def.Costly() && c.Def.Op != OpGetMore && (!c.Args.InTxn || c.Args.Start)
	if !begins || !c.Peer.Balanced || c.Conn.Draining().Err() == nil {
		return nil
	}
	return mongoerr.New(mongoerr.ShutdownInProgress, "The server is shutting down; try it again, and the load balancer finds another one")
}
