package command

import (
	"context"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/concern"
)

// aheadMax is the time, in seconds, by which the timestamps of another server may be ahead of this one's clock: ten
// after a crash of that server, and the difference of the clocks.
const aheadMax = 60

// reads reports whether a secondary runs the command only if its read preference admits a secondary. Other commands that
// do not write are those about the server itself and its connections; a getMore goes where its cursor is.
// Manual: core/read-preference.
func (d *Def) reads() bool {
	return d.Kind == KindRead && d.Op != OpGetMore || d.Facts.Has(Metadata) && !d.Facts.Has(Writes)
}

// postponeTime records the time that a read concern requires, for which enterSecondary waits.
// Errors: InvalidOptions (72) for a time that no server of these data can have reached yet.
func (c *Call) postponeTime(at, after storage.Timestamp) error {
	c.awaited = max(at, after)
	if int64(c.awaited.Seconds()) <= c.Cluster.Now().Unix()+aheadMax {
		return nil
	}
	name := "afterClusterTime"
	if at > after {
		name = "atClusterTime"
	}
	return concern.AheadOf(name, c.awaited, c.Time)
}

// Secondary reports whether the server is no primary: it follows another one, or another one was promoted in its place.
func (s *Server) Secondary() bool { return s.Follower != nil || s.deposed.Err() != nil }

// Depose makes the server refuse writes, because another one was promoted in its place.
func (s *Server) Depose() { s.depose() }

// Deposed returns a context that ends when another server was promoted in place of this one.
func (s *Server) Deposed() context.Context { return s.deposed }

// OnDepose calls fn in its own goroutine when another server is promoted in place of this one; stop cancels that.
func OnDepose(c *Call, fn func()) (stop func() bool) { return context.AfterFunc(c.Server.deposed, fn) }

// CannotTail returns the error that ends a change stream or a tailable cursor, and refuses to open one, on a server in whose place
// another one was promoted: nothing is written here any more, so that it would wait for ever. After the error, drivers
// look for the primary, and resume a change stream there. Otherwise it returns nil.
// Spec: change-streams (resumable error), server-discovery-and-monitoring (not writable primary).
func (c *Call) CannotTail() error {
	if c.Server.deposed.Err() == nil {
		return nil
	}
	return mongoerr.New(mongoerr.NotWritablePrimary, "not primary: another server was promoted in place of this one, which has no new documents; open the cursor there")
}

// opensTail reports whether the command opens a change stream or a tailable cursor.
func (c *Call) opensTail() bool {
	return c.opensStream() || c.Def.Kind == KindRead && c.Body.Get("tailable").Truthy()
}

// enterSecondary refuses a command that only a primary runs, or that its client requests from a primary. A read with a time
// waits until the writes up to then are applied.
// Manual: core/read-preference, core/read-isolation-consistency-recency.
// Errors: NotWritablePrimary (10107), NotPrimaryNoSecondaryOk (13435), those of CannotTail; the errors of ending contexts.
func (c *Call) enterSecondary() error {
	switch {
	case !c.Server.Secondary():
		return nil
	case c.writes, c.Args.InTxn, c.Def.Ends():
		return mongoerr.New(mongoerr.NotWritablePrimary, "not primary")
	case c.Def.reads() && !c.secondaryOK:
		return mongoerr.New(mongoerr.NotPrimaryNoSecondaryOk, "not primary and secondaryOk=false")
	case c.Server.deposed.Err() != nil && c.opensTail():
		return c.CannotTail()
	case c.awaited == 0:
		return nil
	}
	if f := c.Server.Follower; f != nil && c.awaited > c.Cluster.Latest() {
		f.Hurry()
	}
	if err := c.Cluster.WaitReached(c.Ctx, c.awaited); err != nil {
		return err
	}
	c.Time = c.Cluster.Latest()
	return nil
}

// enterGates lets the command pass what may refuse it or make it wait because of the state of the server. A command for
// which it has set c.inWrite leaves the write gate when it ends.
// Errors: the errors of enterSecondary, of EnterWrite and of refuseWhileLeaving.
func (c *Call) enterGates() error {
	if err := c.enterSecondary(); err != nil {
		return err
	}
	if c.writes {
		if err := c.Server.WriteGate.EnterWrite(c); err != nil {
			return err
		}
		c.inWrite = true
	}
	return c.refuseWhileLeaving()
}
