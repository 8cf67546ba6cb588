package command

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/cursor"
)

// TokenAppender is a source of a cursor's batches that can append the resume token for the end of its last batch, as
// change streams do.
type TokenAppender interface{ AppendToken(b *bson.Builder) }

// FirstBatch returns the maximum number of documents in the first batch of a find or aggregate without a batch size:
// 101. On a server that is leaving (see Leave) there is no maximum, so that fewer cursors remain open.
// Manual: tutorial/iterate-a-cursor.
func (c *Call) FirstBatch() int {
	if c.Leaving() {
		return math.MaxInt32
	}
	return 101
}

// batchBytesMax is the maximum number of bytes of the documents in one batch of a cursor.
const batchBytesMax = 16 << 20

// BatchBytes returns the maximum number of bytes for the documents of a batch: 16 MiB, or less if the server has
// little memory left for replies. size is the number of documents that the client requested, 0 for any number. For
// one document it returns 16 MiB.
func (c *Call) BatchBytes(size int) int {
	if size == 1 { // one document always fits
		return batchBytesMax
	}
	return c.Out.Room(batchBytesMax)
}

// OpenCursor writes the first batch of a result stream, at most size documents, into the reply. If more results may
// exist, as they always may for a size of 0, it registers a cursor for them. If single is true, it registers none,
// and a size of 0 is no bound.
func (c *Call) OpenCursor(o cursor.Options, src cursor.Source, size int, single bool) error {
	b := c.Reply
	kept := false
	defer func() {
		if !kept { // at the end of the stream, after an error or a panic
			src.Close()
		}
	}()
	b.BeginDoc("cursor")
	b.BeginArray("firstBatch")
	more := true
	n := 0
	if size > 0 || single {
		most := batchBytesMax // a single batch has all that fits
		if !single {
			most = c.BatchBytes(size)
		}
		var err error
		if n, more, err = src.Append(c.Ctx, b, size, most); err != nil {
			return err
		}
	}
	b.End()
	c.Server.Stats.Returned.Add(int64(n))
	c.Returned += int64(n)
	id := cursor.ID(0)
	if more && !single {
		o.Session, o.TxnNumber, o.User, o.Conn = c.Args.ID, -1, c.ConnState.User, c.Conn.ID()
		o.Account = c.Account()
		if c.Args.InTxn {
			o.TxnNumber = c.Args.TxnNumber
		}
		o.Command, o.Needed, o.Observer = c.Body, c.needed(), c.Run
		if d, limited, _ := c.timeLimit(); limited && !c.Body.Get("maxTimeMS").IsNullish() && !o.AwaitData {
			o.TimeLeft = max(1, d-c.Cluster.Now().Sub(c.Start))
		}
		cur, err := c.Server.Cursors.Add(o, src, nil)
		if err != nil {
			return err
		}
		c.retained, kept = true, true
		c.Op.Planned = nil // from now on the connection serves other commands
		id = cur.Checkin(n, true)
	}
	if t, ok := src.(TokenAppender); ok {
		t.AppendToken(b)
	}
	c.AppendReadTime()
	b.Int64("id", int64(id))
	b.String("ns", o.Namespace.String())
	b.End()
	return nil
}
