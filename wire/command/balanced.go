package command

import (
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/session"
)

// If the connection string of a client has loadBalanced=true, the client has one address for any number of servers,
// and does not monitor these servers. It continues a cursor or a transaction only on the connection that opened that
// cursor or transaction. When the connection has been closed, no client can continue them. Spec: load-balancers.

// pinnedTxn identifies the last transaction that began on a balanced connection, so that endPinned can abort the
// transaction when the connection closes. Drivers open at most one transaction on a balanced connection.
type pinnedTxn struct {
	id    session.ID
	begun time.Time
}

// pinTxn stores the transaction that the command has begun.
func (c *Call) pinTxn() {
	if c.ConnState.Balanced {
		c.ConnState.pinnedTxn = pinnedTxn{c.Args.ID, c.Session.Begun()}
	}
}

// endPinned closes the cursors and aborts the transaction of a balanced connection that has been closed.
func (s *Server) endPinned(conn int64, p *ConnState) {
	if !p.Balanced {
		return
	}
	s.Cursors.KillConn(conn)
	if !p.pinnedTxn.id.IsZero() {
		s.Sessions.Abandon(p.pinnedTxn.id, p.pinnedTxn.begun)
	}
}

// refuseWhileDraining refuses reads and writes on a balanced connection of a draining server with peers, unless they
// continue a cursor or a transaction. Clients of a load balancer get no hello that reports the shutdown. After the
// error, the client closes all its connections to this server, and retries on a new connection what may be retried.
// Errors: ShutdownInProgress (91).
func (c *Call) refuseWhileDraining() error {
	begins := c.Def.Costly() && c.Def.Op != OpGetMore && (!c.Args.InTxn || c.Args.Start)
	if !begins || !c.ConnState.Balanced || c.Conn.Draining().Err() == nil {
		return nil
	}
	return mongoerr.New(mongoerr.ShutdownInProgress, "The server is shutting down; try it again, and the load balancer finds another one")
}
