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

// ID names a cursor; 0 is none.
type ID int64

// Source is what a cursor streams.
type Source interface {
	// Append appends up to max documents (0: no limit) to the array open in b, as long as
	// the array's documents stay within maxBytes; one document always fits. more is false
	// once the stream has ended. ctx is that of the command which asks, so a source must
	// not keep it.
	Append(ctx context.Context, b *bson.Builder, max int, maxBytes int) (n int, more bool, err error)
	// Close releases everything. It is called once, never during Append.
	Close()
}

// Waiter is a Source that can wait for documents to come: tailable cursors with awaitData,
// change streams.
type Waiter interface {
	Source
	// Wait returns nil when an Append may find more, or ctx.Err().
	Wait(ctx context.Context) error
}

// Options are what is known of a cursor when it opens.
type Options struct {
	Namespace collection.Namespace
	Session   session.ID      // zero: opened without lsid
	TxnNumber int64           // of the transaction it was opened in, -1 if none
	User      collection.User // who opened it
	Conn      int64           // the connection it was opened on
	Account   string          // whom it is counted for
	Tailable  bool
	AwaitData bool
	NoTimeout bool // noCursorTimeout: never idle too long
	// TimeLeft is what its commands may still take of the maxTimeMS it was opened
	// with, 0 for any time. Who has checked the cursor out may change it.
	TimeLeft time.Duration
	// Outlives says that the stream goes on when its namespace is dropped: a
	// change stream tells its client itself, and a list is complete already.
	Outlives bool
	// Command is the command that opened it, for $currentOp; Add copies it.
	Command bson.Raw
	// Needed is what its user must be allowed to do, at each getMore again.
	Needed []auth.Needed
	// Values belongs to the caller: what its getMore needs and a Source does not.
	Values any
}

// OfStream says that the cursor is that of a change stream.
func (o *Options) OfStream() bool { return o.Outlives && o.Tailable }

// Access is who asks for a cursor.
type Access struct {
	Namespace collection.Namespace
	Session   session.ID
	TxnNumber int64 // of the transaction of the command, -1 if none
	User      collection.User
	// Interrupt is called with ErrKilled from another goroutine when the cursor is killed
	// while the command uses it. May be nil.
	Interrupt func(cause error)
}

// Cursor is one open stream. Between Add or Checkout and Checkin it belongs to one command.
type Cursor struct {
	ID      ID
	Options Options
	Opened  time.Time
	// Answered is when a getMore brought something last, which its command notes and asks.
	Answered time.Time

	registry *Registry
	source   Source
	holder   Holder // the source, if it is one

	// use is held by whoever uses the source, from Add or Checkout to Checkin; closed
	// says that it is no more, and is guarded by it. Registry.mu is not taken under it
	// except by Checkin, nor use waited for under Registry.mu.
	use    sync.Mutex
	closed bool

	// Guarded by Registry.mu.
	bytes           int64 // held, as far as known
	inShare, inWarm *list.Element
	pinned          bool
	dead            bool // removed from the registry; closed at Checkin
	poison          *mongoerr.Error
	used            time.Time
	interrupt       func(error)
	batches         int64
	returned        int64
}

// Source returns the stream, for callers that know more of it than Append.
func (c *Cursor) Source() Source { return c.source }

// Append appends a batch, see Source.Append.
func (c *Cursor) Append(ctx context.Context, b *bson.Builder, max, maxBytes int) (n int, more bool, err error) {
	return c.source.Append(ctx, b, max, maxBytes)
}

// close closes the source, which nobody uses any more.
func (c *Cursor) close() {
	c.use.Lock()
	defer c.use.Unlock()
	c.closed = true
	c.source.Close()
}

// check compares who asks with who opened.
// Errors: Unauthorized, Location50736 to Location50741.
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
