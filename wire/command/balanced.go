package command

import (
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/session"
)

// A client whose connection string says loadBalanced=true has one address for any number of servers. It
// does not watch them. What one server keeps, a cursor or a transaction, it uses by the connection
// on which that began; so nobody can use it any more once the connection is closed.
// Spec: load-balancers.

// bound is the last transaction that began on a balanced connection, which has one at a time.
type bound struct {
	id    session.ID
	begun time.Time
}

// bind notes the transaction that the command has begun.
func (c *Call) bind() {
	if c.Peer.Balanced {
		c.Peer.bound = bound{c.Args.ID, c.Session.Begun()}
	}
}

// unbind ends what was bound to a balanced connection that is closed.
func (s *Server) unbind(conn int64, p *Peer) {
	if !p.Balanced {
		return
	}
	s.Cursors.KillConn(conn)
	if !p.bound.id.IsZero() {
		s.Sessions.Abandon(p.bound.id, p.bound.begun)
	}
}

// sendAway refuses reads and writes that come on a balanced connection to a server that stops, and
// are not bound to it: no hello tells such a client. It lets go of all its connections to
// this server, and does again on a new one what it may. Errors: ShutdownInProgress (91).
func (c *Call) sendAway() error {
	begins := c.Def.Costly() && c.Def.Op != OpGetMore && (!c.Args.InTxn || c.Args.Start)
	if !begins || !c.Peer.Balanced || c.Conn.Draining().Err() == nil {
		return nil
	}
	return mongoerr.New(mongoerr.ShutdownInProgress, "The server is shutting down; try it again, and the load balancer finds another one")
}
