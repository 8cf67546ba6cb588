package command

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/cursor"
)

// Tokened is a source that tells where to go on after its last batch.
type Tokened interface{ AppendToken(b *bson.Builder) }

// FirstBatch is how many documents a find or aggregate returns at first when its client does not
// say: 101, but from a server that is left (see Leave) all that a batch may have, so that no
// cursor stays behind. Manual: tutorial/iterate-a-cursor.
func (c *Call) FirstBatch() int {
	if c.Leaving() {
		return math.MaxInt32
	}
	return 101
}

// batchBytesMax is how many bytes of documents one reply holds.
const batchBytesMax = 16 << 20

// BatchBytes is how many bytes of documents a batch of so many, 0 for any number, may
// have: fewer when the server has little memory left for replies.
func (c *Call) BatchBytes(size int) int {
	if size == 1 { // which always fits
		return batchBytesMax
	}
	return c.Out.Room(batchBytesMax)
}

// OpenCursor writes the first batch of a stream and, unless that was all,
// registers a cursor for the rest.
func (c *Call) OpenCursor(o cursor.Options, src cursor.Source, size int, single bool) error {
	b := c.Reply
	kept := false
	defer func() {
		if !kept { // at its end, failed, or panicked
			src.Close()
		}
	}()
	b.BeginDoc("cursor")
	b.BeginArray("firstBatch")
	more := true
	n := 0
	if size > 0 || single {
		most := batchBytesMax // of a single batch, all that fits
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
	id := cursor.ID(0)
	if more && !single {
		o.Session, o.TxnNumber, o.User, o.Conn = c.Args.ID, -1, c.Peer.User, c.Conn.ID()
		o.Account = c.Account()
		if c.Args.InTxn {
			o.TxnNumber = c.Args.TxnNumber
		}
		o.Command, o.Needed = c.Body, c.needed()
		if d, limited, _ := c.timeLimit(); limited && !c.Body.Get("maxTimeMS").IsNullish() && !o.AwaitData {
			o.TimeLeft = max(1, d-c.Cluster.Now().Sub(c.Start))
		}
		cur, err := c.Server.Cursors.Add(o, src, nil)
		if err != nil {
			return err
		}
		c.retained, kept = true, true
		c.Op.Planned = nil // the connection is another command's from now on
		id = cur.Checkin(n, true)
	}
	if t, ok := src.(Tokened); ok {
		t.AppendToken(b)
	}
	c.AppendReadTime()
	b.Int64("id", int64(id))
	b.String("ns", o.Namespace.String())
	b.End()
	return nil
}
