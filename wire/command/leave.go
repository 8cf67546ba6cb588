package command

import (
	"context"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// leavePollEvery is the interval at which Leave checks whether all work that only this server can finish has ended.
const leavePollEvery = 10 * time.Millisecond

// recentUse is the time after its last use for which a cursor counts as in use, and the time for which Leave waits
// for reads that began before it. recentStreamEnd is the time for which Leave waits after a change stream was ended,
// because its driver may resume the stream at this server again.
const (
	recentUse       = time.Second
	recentStreamEnd = 200 * time.Millisecond
)

// resumeHereMax is the time after the begin of Leave in which drivers may resume change streams at any server, this
// one included. After that, once no transaction is open, a resume here fails with an error after which drivers leave
// this server: otherwise they prefer the server that answers fastest.
const resumeHereMax = time.Second

// Leave waits until no client depends on this server, while peers over the same store run. No transaction begins any
// more: drivers retry it at a peer. Change streams end with an error that makes drivers resume them, and again if a
// driver resumes at this server. Without a batch size, a cursor is opened only for results that do not fit one reply.
// Leave returns when hasBoundWork reports false, or when ctx ends.
//
// Leave runs before hello reports the shutdown. After such a hello, drivers do not use the server any more: cursors
// would fail, and transactions too, after drivers have waited for their server for half a minute.
func Leave(ctx context.Context, s *Server) {
	s.leaveBegan.Store(time.Now().UnixNano())
	s.leave()
	look := time.NewTicker(leavePollEvery)
	defer look.Stop()
	for s.hasBoundWork() {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// Leaving reports whether Leave has begun.
func (c *Call) Leaving() bool { return c.Server.leaving.Err() != nil }

// OnLeave calls fn in its own goroutine when Leave begins; stop cancels that.
func OnLeave(c *Call, fn func()) (stop func() bool) { return context.AfterFunc(c.Server.leaving, fn) }

// hasBoundWork reports whether Leave has to wait: transactions, cursors (of tailable ones only change streams) or
// reads are left that a peer cannot take over, or a change stream ended less than recentStreamEnd ago.
func (s *Server) hasBoundWork() bool {
	if s.Sessions.Stats().Open > 0 || time.Since(time.Unix(0, s.lastStreamEnd.Load())) < recentStreamEnd {
		return true
	}
	left := time.Unix(0, s.leaveBegan.Load())
	for _, op := range s.Ops.List() {
		if s.Lookup(op.Name).Kind != KindRead {
			continue
		}
		if op.Start.Before(left) && time.Since(left) < recentUse || isChangeStream(op.Command()) { // the read may open a cursor soon
			return true
		}
	}
	for _, c := range s.Cursors.List() {
		ends := c.Options.OfStream() || !c.Options.Tailable
		if ends && (c.Pinned || time.Since(c.Used) < recentUse) {
			return true
		}
	}
	return false
}

// refuseWhileLeaving refuses, on a server that is leaving (see Leave), transactions that begin, what
// refuseWhileDraining refuses, and, after resumeHereMax, change streams. Errors: NoSuchTransaction (251), after which
// drivers retry the whole transaction but keep using the server, where other transactions still have to end;
// ShutdownInProgress (91), for change streams only once no transaction is open, after which drivers leave the server.
func (c *Call) refuseWhileLeaving() error {
	if !c.Leaving() {
		return nil
	}
	if err := c.refuseWhileDraining(); err != nil {
		return err
	}
	switch {
	case c.Args.Start:
		return mongoerr.New(mongoerr.NoSuchTransaction, "The server is shutting down and begins no transaction; try the transaction again, and it runs at another server")
	case time.Since(time.Unix(0, c.Server.leaveBegan.Load())) > resumeHereMax && c.Server.Sessions.Stats().Open == 0 && c.opensStream():
		return mongoerr.New(mongoerr.ShutdownInProgress, "The server is shutting down and opens no change stream; try it again at another server")
	}
	return nil
}

// ResumeElsewhere returns the error that ends a change stream on a server that is leaving, so that the driver resumes
// the stream at a peer. No driver takes this error for a fault of the server, and all drivers resume after it. Spec:
// change-streams.
func ResumeElsewhere(c *Call) *mongoerr.Error {
	c.Server.lastStreamEnd.Store(time.Now().UnixNano())
	return mongoerr.New(mongoerr.CursorNotFound, "The server is shutting down; resume the change stream, and another server goes on with it").
		With(mongoerr.ResumableChangeStreamError)
}
