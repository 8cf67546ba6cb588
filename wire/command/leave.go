package command

import (
	"context"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// lookEvery is how often Leave looks whether all has gone.
const lookEvery = 10 * time.Millisecond

// How long a cursor counts as one that somebody reads: after the last getMore, and, of a change
// stream, after it was sent on, as its driver may resume here again.
const (
	usedLately = time.Second
	sentLately = 200 * time.Millisecond
)

// bouncesMax is how long drivers may resume change streams at any server, this one included, before
// they are told in a way that has them leave it: they prefer the server that answers fastest.
const bouncesMax = time.Second

// Leave has go what is bound to this server while others over the same data are there: no
// transaction begins any more, which drivers try elsewhere, change streams are told to be resumed,
// again if a driver resumes here, and cursors are opened only for what one reply cannot hold. It
// returns when the transactions that were open have ended and nobody reads a cursor, or when ctx
// ends. It comes before hello says that the server stops: drivers reach it no more from then on,
// so that cursors fail, and transactions too, after half a minute in which their server was
// waited for.
func Leave(ctx context.Context, s *Server) {
	s.leftAt.Store(time.Now().UnixNano())
	s.leave()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for s.bound() {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// Leaving reports that Leave has begun.
func (c *Call) Leaving() bool { return c.Server.leaving.Err() != nil }

// OnLeave has fn called in its own goroutine when Leave begins; stop has it not called any more.
func OnLeave(c *Call, fn func()) (stop func() bool) { return context.AfterFunc(c.Server.leaving, fn) }

// bound reports whether something is left that another server cannot take over.
func (s *Server) bound() bool {
	if s.Sessions.Stats().Open > 0 || time.Since(time.Unix(0, s.sentOn.Load())) < sentLately {
		return true
	}
	left := time.Unix(0, s.leftAt.Load())
	for _, op := range s.Ops.List() {
		if s.Lookup(op.Name).Kind != KindRead {
			continue
		}
		if op.Start.Before(left) && time.Since(left) < usedLately || watches(op.Command()) { // it is about to open a cursor
			return true
		}
	}
	for _, c := range s.Cursors.List() {
		ends := c.Options.OfStream() || !c.Options.Tailable
		if ends && (c.Pinned || time.Since(c.Used) < usedLately) {
			return true
		}
	}
	return false
}

// goElsewhere refuses what a server that is left does not begin any more: transactions, and after a while change streams.
// Errors: NoSuchTransaction (251), which drivers take for a reason to try all of it again, and not for
// one to leave a server at which others have yet to end; ShutdownInProgress (91), at which
// they leave it, once no transaction is open.
func (c *Call) goElsewhere() error {
	if !c.Leaving() {
		return nil
	}
	if err := c.sendAway(); err != nil {
		return err
	}
	switch {
	case c.Args.Start:
		return mongoerr.New(mongoerr.NoSuchTransaction, "The server is shutting down and begins no transaction; try the transaction again, and it runs at another server")
	case time.Since(time.Unix(0, c.Server.leftAt.Load())) > bouncesMax && c.Server.Sessions.Stats().Open == 0 && c.opensStream():
		return mongoerr.New(mongoerr.ShutdownInProgress, "The server is shutting down and opens no change stream; try it again at another server")
	}
	return nil
}

// SendOn is the error of a getMore of a change stream that another server is to go on with. No
// driver takes it for a fault of the server, and all resume. Spec: change-streams.
func SendOn(c *Call) *mongoerr.Error {
	c.Server.sentOn.Store(time.Now().UnixNano())
	return mongoerr.New(mongoerr.CursorNotFound, "The server is shutting down; resume the change stream, and another server goes on with it").
		With(mongoerr.ResumableChangeStreamError)
}
