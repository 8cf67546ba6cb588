package cursor

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/session"
)

// ID identifies a cursor; 0 means no cursor.
type ID int64

// Source produces the documents of a cursor.
type Source interface {
	// Append appends up to max documents (0: no limit) to the array that is open in b, as long as these documents
	// take at most maxBytes; one document always fits. n is the number of documents. more is false after the end of
	// the stream. ctx belongs to the command that calls Append, so a source must not keep it.
	Append(ctx context.Context, b *bson.Builder, max int, maxBytes int) (n int, more bool, err error)
	// Close releases everything. It is called once, never during Append.
	Close()
}

// Waiter is a Source that can wait for new documents, as tailable cursors with awaitData and change streams do.
type Waiter interface {
	Source
	// Wait returns nil when there may be new documents for Append, or ctx.Err() when ctx ends.
	Wait(ctx context.Context) error
}

// Observer follows a cursor from one command to the next. Its methods may be called by several goroutines.
type Observer interface {
	// Opened is called when the cursor has been registered.
	Opened()
	// Used is called when a getMore has checked the cursor out.
	Used()
	// Closed is called once, when the source of the cursor has been closed.
	Closed()
}

// Options describe a cursor when it is opened.
type Options struct {
	Namespace collection.Namespace
	Session   session.ID      // zero: opened without lsid
	TxnNumber int64           // of the transaction that opened it, -1 if none
	User      collection.User // that opened it
	Conn      int64           // on which it was opened
	Account   string          // to which it is charged; see accountFactor
	Tailable  bool
	AwaitData bool
	NoTimeout bool // noCursorTimeout: it is not closed for being idle
	// TimeLeft is the rest of the maxTimeMS with which the cursor was opened; 0 means no limit. The command that uses
	// the cursor may change it.
	TimeLeft time.Duration
	// SurvivesDrop means that the cursor continues when its namespace is dropped: a change stream reports the drop as
	// an event, and a list of results is complete already.
	SurvivesDrop bool
	// Command is the command that opened the cursor, as $currentOp shows it. Registry.Add copies it.
	Command bson.Raw
	// Needed holds the privileges that the user needs for the cursor; each getMore checks them again.
	Needed []auth.Needed
	// Observer is nil for none.
	Observer Observer
	// Values is data of the command that opened the cursor, for its getMores, if the Source does not hold it.
	Values any
}

// OfStream reports whether the cursor belongs to a change stream.
func (o *Options) OfStream() bool { return o.SurvivesDrop && o.Tailable }

// Access describes the command that checks a cursor out.
type Access struct {
	Namespace collection.Namespace
	Session   session.ID
	TxnNumber int64 // of the transaction of the command, -1 if none
	User      collection.User
	// Interrupt is called from another goroutine, with ErrKilled, when the cursor is killed while the command uses
	// it. May be nil.
	Interrupt func(cause error)
}

// Cursor is a stream of documents that stays open between commands. One command uses it from Add or Checkout to
// Checkin.
type Cursor struct {
	ID      ID
	Options Options
	Opened  time.Time
	// Answered is the time at which a getMore last returned documents of this cursor. The getMore command reads and
	// sets it.
	Answered time.Time

	registry *Registry
	source   Source
	holder   Holder // the source, if it is one

	// use is locked while the source is used: by a command from Add or Checkout to Checkin, during Park, and during
	// close. It guards closed, which is set when the source is closed. Lock order: a goroutine that holds use may
	// lock Registry.mu only in Add and Checkin; one that holds Registry.mu never waits for use.
	use    sync.Mutex
	closed bool

	// Guarded by Registry.mu.
	bytes           int64 // held at the last Checkin or Park
	inShare, inWarm *list.Element
	pinned          bool
	removed         bool // removed from the registry; closed at Checkin
	poison          *mongoerr.Error
	used            time.Time
	interrupt       func(error)
	batches         int64
	returned        int64
}

// Source returns the source of the documents, for callers that use other methods of it than Append.
func (c *Cursor) Source() Source { return c.source }

// Append appends a batch, see Source.Append.
func (c *Cursor) Append(ctx context.Context, b *bson.Builder, max, maxBytes int) (n int, more bool, err error) {
	return c.source.Append(ctx, b, max, maxBytes)
}

// close closes the source, which no command uses any more.
func (c *Cursor) close() {
	c.use.Lock()
	defer c.use.Unlock()
	c.end()
}

// end closes the source. The caller holds use.
func (c *Cursor) end() {
	c.closed = true
	c.source.Close()
	if o := c.Options.Observer; o != nil {
		o.Closed()
	}
}

// check returns an error unless the getMore a has the namespace, the user, the session and the transaction with
// which the cursor was opened. Errors: Unauthorized, Location50736 to Location50741.
func (c *Cursor) check(a Access) error {
	o := &c.Options
	if a.Namespace != o.Namespace {
		return mongoerr.New(mongoerr.Unauthorized,
			"Requested getMore on namespace '%v', but cursor belongs to a different namespace %v", a.Namespace, o.Namespace)
	}
	if a.User != o.User {
		return mongoerr.New(mongoerr.Unauthorized, "cursor id %d was not created by the authenticated user", c.ID)
	}
	switch {
	case o.Session.IsZero() && !a.Session.IsZero():
		return mongoerr.New(50736, "Cannot run getMore on cursor %d, which was not created in a session, in session %v", c.ID, a.Session)
	case !o.Session.IsZero() && a.Session.IsZero():
		return mongoerr.New(50737, "Cannot run getMore on cursor %d, which was created in session %v, without an lsid", c.ID, o.Session)
	case o.Session != a.Session:
		return mongoerr.New(50738, "Cannot run getMore on cursor %d, which was created in session %v, in session %v", c.ID, o.Session, a.Session)
	case o.TxnNumber < 0 && a.TxnNumber >= 0:
		return mongoerr.New(50739, "Cannot run getMore on cursor %d, which was not created in a transaction, in transaction %d", c.ID, a.TxnNumber)
	case o.TxnNumber >= 0 && a.TxnNumber < 0:
		return mongoerr.New(50740, "Cannot run getMore on cursor %d, which was created in transaction %d, without a txnNumber", c.ID, o.TxnNumber)
	case o.TxnNumber != a.TxnNumber:
		return mongoerr.New(50741, "Cannot run getMore on cursor %d, which was created in transaction %d, in transaction %d", c.ID, o.TxnNumber, a.TxnNumber)
	}
	return nil
}
