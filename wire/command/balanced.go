package command

import (
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/session"
)

// A client whose connection string has loadBalanced=true has one address for any number of servers, and does
// not monitor them. It uses a cursor or a transaction only through the connection on which that began, so
// after the connection is closed no client can use them any more. Spec: load-balancers.

// pinnedTxn is the last transaction that began on a balanced connection; such a connection has at most one open.
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

// endPinned ends the cursors and the transaction of a closed balanced connection.
func (s *Server) endPinned(conn int64, p *ConnState) {
	if !p.Balanced {
		return
	}
	s.Cursors.KillConn(conn)
	if !p.pinnedTxn.id.IsZero() {
		s.Sessions.Abandon(p.pinnedTxn.id, p.pinnedTxn.begun)
	}
}

// refuseWhileDraining refuses reads and writes on a balanced connection of a draining server, unless they continue a
// cursor or a transaction: such a client gets no hello that reports the shutdown. After the error the client
// closes all its connections to this server, and retries on a new connection what may be retried.
// Errors: ShutdownInProgress (91).
func (c *Call) refuseWhileDraining() error {
	begins := c.Def.Costly() && c.Def.Op != OpGetMore && (!c.Args.InTxn || c.Args.Start)
	if !begins || !c.ConnState.Balanced || c.Conn.Draining().Err() == nil {
		return nil
	}
	return mongoerr.New(mongoerr.ShutdownInProgress, "The server is shutting down; try it again, and the load balancer finds another one")
}
