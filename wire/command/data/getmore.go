package data

import (
	"context"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
)

// awaitDefault is how long a getMore of a tailable awaitData cursor waits for
// something new when it does not say. Manual: reference/command/getMore.
const awaitDefault = time.Second

// runGetMore answers getMore. A cursor's commands share the maxTimeMS it was opened
// with. If the client allows it, batches follow until the cursor is at its end.
// Manual: reference/command/getMore, reference/operator/meta/maxTimeMS.
func runGetMore(c *command.Call) error {
	if c.Value.IsNullish() {
		return mongoerr.MissingField("getMore.getMore")
	}
	if c.Value.Type != bson.TypeInt64 {
		return mongoerr.WrongType("getMore.getMore", c.Value.Type.String(), "long")
	}
	id, _ := c.Value.Int64()
	var coll string
	var size int64
	err := c.Each(func(name string, v bson.Value) (known bool, err error) {
		switch name {
		case "collection":
			coll, err = c.StringArg(name, v)
		case "batchSize":
			if size, err = c.LongArg(name, v); size < 0 {
				err = mongoerr.New(mongoerr.BadValue, "Batch size for getMore must be non-negative, but received: %d", size)
			}
		case "term", "lastKnownCommittedOpTime", "includeQueryStatsMetrics":
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if coll == "" {
		return mongoerr.MissingField("getMore.collection")
	}
	c.Server.Stats.Getmore.Add(1)
	c.Peer.Streamed = 0
	ns := collection.Namespace{DB: c.DB, Coll: coll}
	op := c.Running // a copy: the Call serves the next command of the connection too
	access := cursor.Access{Namespace: ns, Session: c.Args.ID, TxnNumber: -1, User: c.Peer.User, Interrupt: op.Interrupt}
	if c.Args.InTxn {
		access.TxnNumber = c.Args.TxnNumber
	}
	cur, err := c.Server.Cursors.Checkout(cursor.ID(id), access)
	if err != nil {
		return err
	}
	c.Page.Opened = cur.Options.Command
	if err := mayStill(c, cur.Options.Command); err != nil {
		cur.Checkin(0, true)
		return err
	}
	if v, ok := c.Body.Lookup("maxTimeMS"); ok && !v.IsNullish() && !cur.Options.AwaitData {
		cur.Checkin(0, true)
		return mongoerr.New(mongoerr.BadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor")
	}
	through := false
	defer func() {
		if !through { // it panicked
			cur.Checkin(0, false)
		}
	}()
	c.Page.OfStream = cur.Options.Outlives
	if err := c.Server.Hooks.Fail(c, command.FailGetMore); err != nil {
		through = true
		cur.Checkin(0, true)
		return err
	}
	began := c.Cluster.Now()
	if left := cur.Options.TimeLeft; left > 0 {
		if err := c.Server.Hooks.Fail(c, command.FailTimeLimit); err != nil {
			through = true
			cur.Checkin(0, false)
			return err
		}
		limit, stop := context.WithTimeoutCause(c.Ctx, left, cluster.ErrTimeLimit)
		defer stop()
		c.Ctx = limit
	}
	b := c.Reply
	b.BeginDoc("cursor")
	b.BeginArray("nextBatch")
	before := receiptOf(c, cur)
	n, more, err := cur.Append(c.Ctx, b, int(size), c.BatchBytes(int(size)))
	if w, ok := cur.Source().(cursor.Waiter); ok && err == nil && n == 0 && more && cur.Options.AwaitData {
		n, more, err = await(c, w, cur, b, int(size))
	}
	if err != nil {
		through = true
		cur.Checkin(0, false)
		return err
	}
	if cur.Options.TimeLeft > 0 {
		cur.Options.TimeLeft = max(1, cur.Options.TimeLeft-c.Cluster.Now().Sub(began))
	}
	addReceipt(c, cur, before)
	c.Server.Stats.Returned.Add(int64(n))
	b.End()
	if t, ok := cur.Source().(command.Tokened); ok {
		t.AppendToken(b)
	}
	through = true
	left := cur.Checkin(n, more)
	if c.Peer.Streamed = 0; left != 0 && c.Out.Exhausts() { // Spec: OP_MSG (exhaustAllowed)
		c.Out.More, c.Peer.Streamed = true, left
	}
	b.Int64("id", int64(left))
	b.String("ns", ns.String())
	b.End()
	return nil
}

// mayStill refuses to go on with a cursor whose command its user may not run any
// more. Errors: Unauthorized (13).
func mayStill(c *command.Call, opened bson.Raw) error {
	if !c.Server.RequireAuth || opened == nil {
		return nil
	}
	q := command.PrivilegeCheck{Call: c, Def: c.Def, DB: c.DB, Grants: c.Peer.Login.Grants}
	if q.Nested(opened); q.Denied {
		return c.Unauthorized(c.Body)
	}
	return nil
}

// await waits for something new, at most as long as the getMore allows and the server
// does not stop: drivers go on with a change stream elsewhere then.
// Errors: InterruptedAtShutdown (11600).
func await(c *command.Call, w cursor.Waiter, cur *cursor.Cursor, b *bson.Builder, size int) (n int, more bool, err error) {
	limit := awaitDefault
	if v, ok := c.Body.Lookup("maxTimeMS"); ok {
		if ms, ok := v.TruncInt64(); ok && ms >= 0 {
			limit = time.Duration(ms) * time.Millisecond
		}
	}
	ctx, cancel := context.WithTimeout(c.Ctx, limit)
	defer cancel()
	stopping := c.Conn.Draining()
	defer context.AfterFunc(stopping, cancel)()
	for {
		c.Out.LeaveRoom()
		if err := w.Wait(ctx); err != nil {
			if stopping.Err() != nil {
				return 0, false, command.ShutDown()
			}
			if c.Ctx.Err() == nil {
				return 0, true, nil // time is up: an empty batch
			}
			return 0, false, err
		}
		if n, more, err = cur.Append(c.Ctx, b, size, c.BatchBytes(size)); n > 0 || !more || err != nil {
			return n, more, err
		}
	}
}

// receiptOf and addReceipt make a getMore's charge the growth of its cursor's.
func receiptOf(c *command.Call, cur *cursor.Cursor) int64 {
	if s, ok := cur.Source().(charged); ok {
		return s.charge()
	}
	return 0
}

func addReceipt(c *command.Call, cur *cursor.Cursor, before int64) {
	if s, ok := cur.Source().(charged); ok {
		c.Page.Charge = s.charge() - before
	}
}

// charged is a source that knows what it cost so far, in micro request units.
type charged interface{ charge() int64 }

func (x *streamSource) charge() int64 { return int64(x.op.Receipt.Total()) }
