package data

import (
	"context"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/operations"
)

// awaitDefault is the maximum time that a getMore without maxTimeMS waits for new documents of a tailable cursor with
// awaitData.
// Manual: reference/command/getMore.
const awaitDefault = time.Second

// runGetMore replies with the next batch of a cursor. If the command that opened the cursor had a maxTimeMS, its
// getMores share the rest of that time, except for a cursor with awaitData. If the client accepts several replies to
// one request (exhaust), batches follow until the cursor ends.
// Manual: reference/command/getMore, reference/operator/meta/maxTimeMS.
func (s *State) runGetMore(c *command.Call) error {
	a, err := parseGetMore(c)
	if err != nil {
		return err
	}
	c.Server.Stats.Getmore.Add(1)
	c.ConnState.Streamed = 0
	ns := collection.Namespace{DB: c.DB, Coll: a.coll}
	cur, err := checkoutCursor(c, a.id, ns)
	if err != nil {
		return err
	}
	if x, ok := cur.Source().(charger); ok {
		c.PayAs(x.class())
	}
	if err := c.EnterOperator(); err != nil {
		cur.Checkin(0, true)
		return err
	}
	s.awaitPace(c, cur)
	b := c.Reply
	b.BeginDoc("cursor")
	n, more, err := appendBatch(c, b, cur, a.size)
	if err != nil {
		return err
	}
	if n > 0 && c.Page.OfStream {
		cur.Answered = time.Now()
		s.pace.count(cur.Answered)
	}
	left := cur.Checkin(n, more)
	if c.ConnState.Streamed = 0; left != 0 && c.Out.Exhausts() { // Spec: OP_MSG (exhaustAllowed)
		c.Out.More, c.ConnState.Streamed = true, left
	}
	b.Int64("id", int64(left))
	b.String("ns", ns.String())
	b.End()
	return nil
}

// getMoreArgs holds the arguments of getMore.
type getMoreArgs struct {
	id   cursor.ID // the cursor
	coll string    // the collection that the cursor reads
	size int       // maximum number of documents in the batch; 0 for as many as fit
}

// parseGetMore reads the arguments of getMore.
// Errors: BadValue (2), TypeMismatch (14), IDLFailedToParse (40414).
func parseGetMore(c *command.Call) (a getMoreArgs, err error) {
	if c.Value.IsNullish() {
		return a, mongoerr.MissingField("getMore.getMore")
	}
	if c.Value.Type != bson.TypeInt64 {
		return a, mongoerr.WrongType("getMore.getMore", c.Value.Type.String(), "long")
	}
	id, _ := c.Value.Int64()
	a.id = cursor.ID(id)
	size := int64(0)
	err = c.ReadArgs(
		arguments.String("collection", &a.coll),
		arguments.Long("batchSize", &size).Check(func() error {
			if size < 0 {
				return mongoerr.New(mongoerr.BadValue, "Batch size for getMore must be non-negative, but received: %d", size)
			}
			return nil
		}),
		arguments.Long("term", nil),
		arguments.Doc("lastKnownCommittedOpTime", nil),
		arguments.StrictBool("includeQueryStatsMetrics", nil),
	)
	a.size = int(size)
	if err == nil && a.coll == "" {
		err = mongoerr.MissingField("getMore.collection")
	}
	return a, err
}

// checkoutCursor takes a cursor out of the registry, for this command alone, if its user may continue the cursor. If
// the command is refused, the cursor stays as it was. A server that is leaving (see Leave) instead closes the cursor
// of a change stream; one in whose place another was promoted (see CannotTail), that of every tailable cursor.
func checkoutCursor(c *command.Call, id cursor.ID, ns collection.Namespace) (*cursor.Cursor, error) {
	op := c.Running // a copy, because the connection reuses the Call for its next command
	access := cursor.Access{Namespace: ns, Session: c.Args.ID, TxnNumber: -1, User: c.ConnState.User, Interrupt: op.Interrupt}
	if c.Args.InTxn {
		access.TxnNumber = c.Args.TxnNumber
	}
	cur, err := c.Server.Cursors.Checkout(id, access)
	if err != nil {
		return nil, err
	}
	through := false
	defer func() {
		if !through { // it panicked
			cur.Checkin(0, false)
		}
	}()
	c.Page.Opened, c.Run = cur.Options.Command, cur.Options.Observer
	if err = c.MayStill(cur.Options.Needed); err == nil {
		err = c.SameAPIAsOpened(cur.Options.Command)
	}
	if v, ok := c.Body.Lookup("maxTimeMS"); err == nil && ok && !v.IsNullish() && !cur.Options.AwaitData {
		err = mongoerr.New(mongoerr.BadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor")
	}
	if err == nil {
		c.Page.OfStream = cur.Options.OfStream()
		err = c.Server.FailPoints.Fail(c, command.FailGetMore)
	}
	through = true
	if err != nil {
		cur.Checkin(0, true)
		return nil, err
	}
	if c.Page.OfStream && c.Leaving() {
		err = command.ResumeElsewhere(c)
	} else if cur.Options.Tailable {
		err = c.CannotTail()
	}
	if err != nil {
		cur.Checkin(0, false)
		return nil, err
	}
	return cur, nil
}

// appendBatch appends the next batch of a cursor to the reply, and after a change stream's batch the resume token. If
// it fails or panics, the cursor is closed.
func appendBatch(c *command.Call, b *bson.Builder, cur *cursor.Cursor, size int) (n int, more bool, err error) {
	through := false
	before := receiptOf(c, cur)
	defer func() {
		if !through {
			cur.Checkin(0, false) // closes the source, which charges the last of its work
			addReceipt(c, cur, before)
		}
	}()
	began := c.Cluster.Now()
	if left := cur.Options.TimeLeft; left > 0 {
		stop, err := c.LimitTime(left)
		if err != nil {
			return 0, false, err
		}
		defer stop()
	}
	if x, ok := cur.Source().(interface{ show(p *operations.Progress) }); ok {
		x.show(c.Progress())
	}
	b.BeginArray("nextBatch")
	n, more, err = cur.Append(c.Ctx, b, size, c.BatchBytes(size))
	if w, ok := cur.Source().(cursor.Waiter); ok && err == nil && n == 0 && more && cur.Options.AwaitData {
		n, more, err = await(c, w, cur, b, size)
	}
	if err != nil {
		return 0, false, err
	}
	if cur.Options.TimeLeft > 0 {
		cur.Options.TimeLeft = max(1, cur.Options.TimeLeft-c.Cluster.Now().Sub(began))
	}
	addReceipt(c, cur, before)
	c.Server.Stats.Returned.Add(int64(n))
	c.Returned += int64(n)
	b.End()
	if t, ok := cur.Source().(command.TokenAppender); ok {
		t.AppendToken(b)
	}
	through = true
	return n, more, nil
}

// await waits for new documents of a tailable cursor or change stream, at most for maxTimeMS or else awaitDefault,
// and appends them to the batch, which stays empty if there are none. It ends when the server stops, or when another one
// is promoted in its place: drivers then continue a change stream at a peer or at the new primary. If the user loses the
// privilege during the wait, the documents are not sent.
// Errors: InterruptedAtShutdown (11600), NotWritablePrimary (10107), CursorNotFound (43), Unauthorized (13).
func await(c *command.Call, w cursor.Waiter, cur *cursor.Cursor, b *bson.Builder, size int) (n int, more bool, err error) {
	limit := awaitDefault
	if v, ok := c.Body.Lookup("maxTimeMS"); ok {
		if ms, ok := v.TruncInt64(); ok && ms >= 0 {
			limit = time.Duration(ms) * time.Millisecond
		}
	}
	ctx, cancel := untilStopped(c, limit)
	defer cancel()
	stopping := c.Conn.Draining()
	for {
		var err error
		waitIdle(c, func() { err = w.Wait(ctx) })
		if err != nil {
			if c.Page.OfStream && c.Leaving() {
				return 0, false, command.ResumeElsewhere(c)
			}
			if stopping.Err() != nil {
				return 0, false, command.ShutDown()
			}
			if err := c.CannotTail(); err != nil {
				return 0, false, err
			}
			if c.Ctx.Err() == nil {
				return 0, true, nil // timeout: an empty batch
			}
			return 0, false, err
		}
		if err = c.AuthorizeAgain(); err == nil {
			err = c.MayStill(cur.Options.Needed)
		}
		if err != nil {
			return 0, false, err
		}
		if n, more, err = cur.Append(c.Ctx, b, size, c.BatchBytes(size)); n > 0 || !more || err != nil {
			return n, more, err
		}
	}
}

// untilStopped returns a context for a getMore that waits. It ends after the duration d, or when the server begins to
// drain, or another one is promoted in its place; for a change stream also when Leave begins.
func untilStopped(c *command.Call, d time.Duration) (ctx context.Context, end func()) {
	ctx, cancel := context.WithTimeout(c.Ctx, d)
	stop, depose := context.AfterFunc(c.Conn.Draining(), cancel), command.OnDepose(c, cancel)
	if !c.Page.OfStream {
		return ctx, func() { depose(); stop(); cancel() }
	}
	stay := command.OnLeave(c, cancel)
	return ctx, func() { stay(); depose(); stop(); cancel() }
}

// waitIdle calls wait. During the wait it releases the memory for the reply, and counts the time as idle time of the
// command.
func waitIdle(c *command.Call, wait func()) {
	c.Out.ReleaseMemory()
	idle := &c.Progress().Idle
	idle.Begin(c.Cluster.Now())
	wait()
	idle.End(c.Cluster.Now())
}

// receiptOf returns the charge of a cursor since its opening, in micro request units; 0 if its source counts none.
func receiptOf(c *command.Call, cur *cursor.Cursor) int64 {
	if s, ok := cur.Source().(charger); ok {
		return s.charge()
	}
	return 0
}

// addReceipt sets the charge of a getMore, in micro request units: the charge of its cursor minus before, the
// cursor's charge when the getMore began. The getMore pays as its cursor, whose throughput bucket it may have changed
// (ratelimit.SwitchBucket).
func addReceipt(c *command.Call, cur *cursor.Cursor, before int64) {
	if s, ok := cur.Source().(charger); ok {
		c.Page.Charge = s.charge() - before
		c.PayAs(s.class())
		c.Page.Cap = s.cap()
	}
}

// charger is a source of a cursor that reports its charge since the cursor's opening, in micro request units, and the
// class and the cap of the command that opened it; the class decides what pays the charge.
type charger interface {
	charge() int64
	class() ratelimit.Class
	cap() *ratelimit.RequestCap
}

// charge returns the charge of the operation that produces the cursor's documents, in micro request units.
func (x *streamSource) charge() int64 { return int64(x.op.Receipt.Total()) }

// class returns the class of the command that opened the cursor.
func (x *streamSource) class() ratelimit.Class { return x.op.Paid() }

// cap returns the cap of the command that opened the cursor, nil for none.
func (x *streamSource) cap() *ratelimit.RequestCap { return x.op.Cap }
