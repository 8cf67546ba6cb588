package command

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/cursor"
)

// firstBatch is how many documents a find or aggregate returns at first when
// nobody says. Manual: reference/method/cursor.batchSize.
const firstBatch = 101

// batchBytesMax is how many bytes of documents one reply holds.
const batchBytesMax = 16 << 20

// findArgs are the arguments of find.
type findArgs struct {
	plan.Find
	batch     int64
	hasBatch  bool
	single    bool
	tailable  bool
	awaitData bool
	noTimeout bool
}

// runFind answers find. Manual: reference/command/find.
func runFind(c *Call) error {
	c.Body = c.Body.Clone() // the cursor may outlive the request
	ns, err := c.readNamespace()
	if err != nil {
		return err
	}
	a, err := c.parseFind()
	if err != nil {
		return err
	}
	if c.querySettings.concern(ns) {
		if err := c.applyQuerySettings(&explained{ns: ns, find: a.Find}); err != nil {
			return err
		}
	}
	c.stats.query.Add(1)
	if a.tailable && c.Args.InTxn {
		return mongoerr.New(mongoerr.InvalidOptions, "It is illegal to open a tailable cursor in a transaction")
	}
	if a.tailable {
		return c.findTail(ns, a)
	}
	if c.isDerived(ns) {
		return c.findOnView(ns, a)
	}
	s, err := c.Cluster.Find(&c.Op, ns, a.Find)
	if err != nil {
		return err
	}
	o := cursor.Options{Namespace: ns, NoTimeout: a.noTimeout}
	return c.openCursor(o, &streamSource{s: s, op: &c.Op, limit: a.limitOf(s)}, a.batchSize(), a.single)
}

func (a *findArgs) batchSize() int {
	if !a.hasBatch {
		return firstBatch
	}
	return int(a.batch)
}

// readNamespace is Namespace, which for reads may also name a collection by its
// UUID.
func (c *Call) readNamespace() (collection.Namespace, error) {
	if sub, b, ok := c.Value.Binary(); ok && sub == 4 && len(b) == 16 {
		for _, coll := range c.Cluster.Catalog.Peek().Collections(c.DB) {
			if string(coll.UUID[:]) == string(b) {
				return coll.Namespace, nil
			}
		}
		return collection.Namespace{}, mongoerr.New(mongoerr.NamespaceNotFound, "Unable to resolve %x", b)
	}
	return c.Namespace()
}

func (c *Call) parseFind() (a findArgs, err error) {
	env := c.Env()
	err = c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "filter":
			a.Filter, err = c.docArg(name, v)
		case "sort":
			a.Sort, err = c.docArg(name, v)
		case "projection":
			a.Projection, err = c.docArg(name, v)
		case "hint":
			a.Hint, err = c.hintArg(v)
		case "skip":
			a.Skip, err = c.atLeast(name, v, 0)
		case "limit":
			a.Limit, err = c.atLeast(name, v, 0)
		case "batchSize":
			a.hasBatch = !v.IsMissing()
			a.batch, err = c.atLeast(name, v, 0)
		case "singleBatch":
			a.single, err = c.strictBool(name, v)
		case "min":
			a.Min, err = c.docArg(name, v)
		case "max":
			a.Max, err = c.docArg(name, v)
		case "returnKey":
			a.ReturnKey, err = c.strictBool(name, v)
		case "showRecordId":
			a.ShowRecordID, err = c.strictBool(name, v)
		case "tailable":
			a.tailable, err = c.strictBool(name, v)
		case "awaitData":
			a.awaitData, err = c.strictBool(name, v)
		case "noCursorTimeout":
			a.noTimeout, err = c.strictBool(name, v)
		case "allowDiskUse":
			var yes bool
			if yes, err = c.strictBool(name, v); !v.IsMissing() {
				env.Memory.Spill = yes
			}
		case "oplogReplay", "allowPartialResults", "requestResumeToken", "includeQueryStatsMetrics":
			_, err = c.strictBool(name, v)
		case "collation":
			err = c.setCollation(v)
		case "let":
			err = c.setLet(v)
		case "term", "resumeAfter", "startAt", "options":
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && a.awaitData && !a.tailable {
		err = mongoerr.New(mongoerr.FailedToParse, "Cannot set 'awaitData' without also setting 'tailable'")
	}
	return a, err
}

// setCollation makes a command's collation its environment's.
// Manual: reference/collation. Errors: those of mql.ParseCollation.
func (c *Call) setCollation(v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	if v.Type != bson.TypeDocument {
		return mongoerr.WrongType(c.field("collation"), v.Type.String(), "object")
	}
	if d, _ := v.Doc(); d.IsEmpty() {
		return nil
	}
	col, err := mql.ParseCollation(v)
	if err != nil {
		return err
	}
	c.Env().Collation, c.Env().SimpleCollation = col, col == nil
	return nil
}

// limitOf is how many documents the stream of a find can deliver, 0 if that is open.
func (a *findArgs) limitOf(s *cluster.Stream) int64 {
	if s.Solution != nil && s.Solution.Point {
		return 1
	}
	return a.Limit
}

// streamSource makes a cursor's source of a cluster stream.
type streamSource struct {
	s    *cluster.Stream
	op   *cluster.Op
	held *heldRow
	// parked is what the stream held beside its memory budget when it was parked last.
	parked int64
	// limit is how many documents the stream can deliver, 0 if that is not known: with the
	// last of them it is at its end, without another look.
	limit, given int64
}

// heldRow is a document that did not fit into the last batch.
type heldRow struct{ doc bson.Raw }

// Append see cursor.Source.
func (x *streamSource) Append(ctx context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
	env := x.op.Env
	env.SetContext(ctx)
	start := b.Len()
	defer x.s.Settle()
	defer env.Pause()
	for most == 0 || n < most {
		var doc bson.Raw
		if x.held != nil {
			doc, x.held = x.held.doc, nil
		} else {
			row, err := x.s.Next(env)
			if err != nil {
				return n, false, err
			}
			if row == nil {
				return n, false, nil
			}
			if doc = row.Doc; len(doc) > bson.MaxInternalBytes {
				return n, false, mongoerr.DocumentTooLarge(len(doc), bson.MaxInternalBytes)
			}
		}
		if n > 0 && b.Len()-start+len(doc) > maxBytes {
			x.held = &heldRow{doc.Clone()}
			return n, true, nil
		}
		b.Value("", doc.Value())
		n++
		if x.given++; x.given == x.limit {
			return n, false, nil
		}
	}
	return n, true, nil
}

// Close see cursor.Source.
func (x *streamSource) Close() {
	x.s.Close()
	x.op.Env.Memory.Release()
}

// Held see cursor.Holder.
func (x *streamSource) Held() int64 {
	n := x.op.Env.Memory.Used() + x.parked
	if x.held != nil {
		n += int64(len(x.held.doc))
	}
	return n
}

// Park see cursor.Holder.
func (x *streamSource) Park() (done bool) {
	x.parked, done = x.s.Park()
	return done
}

// batchBytes is how many bytes of documents a batch of so many, 0 for any number, may
// have: fewer when the server has little memory left for replies.
func (c *Call) batchBytes(size int) int {
	if size == 1 { // which always fits
		return batchBytesMax
	}
	return c.Out.Room(batchBytesMax)
}

// openCursor writes the first batch of a stream and, unless that was all,
// registers a cursor for the rest.
func (c *Call) openCursor(o cursor.Options, src cursor.Source, size int, single bool) error {
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
			most = c.batchBytes(size)
		}
		var err error
		if n, more, err = src.Append(c.Ctx, b, size, most); err != nil {
			return err
		}
	}
	b.End()
	c.stats.returned.Add(int64(n))
	id := cursor.ID(0)
	if more && !single {
		o.Session, o.TxnNumber, o.User, o.Conn = c.Args.ID, -1, c.Peer.user, c.Conn.ID()
		if c.Args.InTxn {
			o.TxnNumber = c.Args.TxnNumber
		}
		o.Command = c.Body
		if d, limited, _ := c.timeLimit(); limited && !c.Body.Get("maxTimeMS").IsNullish() && !o.AwaitData {
			o.TimeLeft = max(1, d-c.Cluster.Now().Sub(c.Start))
		}
		cur, err := c.Cursors.Add(o, src, nil)
		if err != nil {
			return err
		}
		c.retained, kept = true, true
		id = cur.Checkin(n, true)
	}
	if t, ok := src.(tokened); ok {
		t.appendToken(b)
	}
	c.appendReadTime()
	b.Int64("id", int64(id))
	b.String("ns", o.Namespace.String())
	b.End()
	return nil
}
