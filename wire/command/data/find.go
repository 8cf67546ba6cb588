package data

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/explained"
	"github.com/cantledb/cantle/wire/operations"
)

// findArgs holds the arguments of find.
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
func runFind(c *command.Call) error {
	c.Body = c.Body.Clone() // the cursor may outlive the request
	ns, err := c.ReadNamespace()
	if err != nil {
		return err
	}
	a, err := parseFind(c, ns)
	if err != nil {
		return err
	}
	if c.Server.Planner.HasSettings(ns) {
		if err := c.Server.Planner.ApplySettings(c, &explained.Explained{Ns: ns, Find: a.Find}); err != nil {
			return err
		}
	}
	c.Server.Stats.Query.Add(1)
	if a.tailable && c.Args.InTxn {
		return mongoerr.New(mongoerr.InvalidOptions, "It is illegal to open a tailable cursor in a transaction")
	}
	if a.tailable {
		return findTail(c, ns, a)
	}
	if c.Server.Virtual.IsDerived(ns) {
		return findOnView(c, ns, a)
	}
	c.CopiesRows()
	s, err := c.Cluster.Find(&c.Op, ns, a.Find)
	if err != nil {
		return err
	}
	o := cursor.Options{Namespace: ns, NoTimeout: a.noTimeout}
	return c.OpenCursor(o, &streamSource{s: s, op: &c.Op, limit: a.limitOf(s)}, a.batchSize(c), a.single)
}

// batchSize returns the maximum number of documents in the first batch.
func (a *findArgs) batchSize(c *command.Call) int {
	if !a.hasBatch {
		return c.FirstBatch()
	}
	return int(a.batch)
}

// parseFind reads the arguments of find.
func parseFind(c *command.Call, ns collection.Namespace) (a findArgs, err error) {
	env := c.Env()
	err = c.ReadArgs(
		arguments.Doc("filter", &a.Filter),
		arguments.Doc("sort", &a.Sort),
		arguments.Doc("projection", &a.Projection),
		arguments.Hint("hint", &a.Hint),
		arguments.Long("skip", &a.Skip).Least(0),
		arguments.Long("limit", &a.Limit).Least(0),
		arguments.Long("batchSize", &a.batch).Least(0).Given(&a.hasBatch),
		arguments.StrictBool("singleBatch", &a.single),
		arguments.Doc("min", &a.Min),
		arguments.Doc("max", &a.Max),
		arguments.StrictBool("returnKey", &a.ReturnKey),
		arguments.StrictBool("showRecordId", &a.ShowRecordID),
		arguments.StrictBool("tailable", &a.tailable),
		arguments.StrictBool("awaitData", &a.awaitData),
		arguments.StrictBool("noCursorTimeout", &a.noTimeout),
		arguments.StrictBool("allowDiskUse", &env.Memory.Spill),
		arguments.StrictBool("oplogReplay", nil),
		arguments.StrictBool("allowPartialResults", nil),
		arguments.StrictBool("requestResumeToken", nil),
		arguments.StrictBool("includeQueryStatsMetrics", nil),
		arguments.By("collation", func(v bson.Value) error { return c.SetCollation(v) }),
		arguments.By("let", func(v bson.Value) error { return setLet(c, v) }),
		c.ExpectUUID(ns),
		arguments.Ignored("term", "resumeAfter", "startAt", "options"),
	)
	if err == nil && a.awaitData && !a.tailable {
		err = mongoerr.New(mongoerr.FailedToParse, "Cannot set 'awaitData' without also setting 'tailable'")
	}
	return a, err
}

// limitOf returns the maximum number of documents that the stream of a find can deliver, 0 if there is no known
// maximum. It is 1 for a point read.
func (a *findArgs) limitOf(s *cluster.Stream) int64 {
	if s.Solution != nil && s.Solution.Point {
		return 1
	}
	return a.Limit
}

// streamSource is the source of a cursor over a cluster stream.
type streamSource struct {
	s    *cluster.Stream
	op   *cluster.Op
	held *heldRow
	// parked is the memory, in bytes, that the stream held outside of its memory budget after it was last parked.
	parked int64
	// limit is the maximum number of documents that the stream can deliver, 0 for no known maximum. given counts the
	// delivered documents: when given reaches limit, the cursor ends without another read.
	limit, given int64
}

// show stores the plan and the memory of the stream in the progress of the getMore that continues it, so that
// currentOp shows them.
func (x *streamSource) show(p *operations.Progress) {
	p.Plan.Store(x.s.Solution)
	p.Memory.Store(x.op.Env.Memory)
}

// heldRow holds a document that did not fit into a batch and comes first in the next batch.
type heldRow struct{ doc bson.Raw }

// Append implements cursor.Source.
func (x *streamSource) Append(ctx context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
	env := x.op.Env
	env.SetContext(ctx)
	start := b.Len()
	defer x.s.Settle()
	defer env.ReleaseSlot()
	defer func() {
		if err == nil { // also a read that has ended between two checks
			err = env.Meter.CheckCap()
		}
	}()
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

// Close implements cursor.Source.
func (x *streamSource) Close() {
	x.s.Close()
	x.op.Env.Memory.Release()
}

// Held implements cursor.Holder.
func (x *streamSource) Held() int64 {
	n := x.op.Env.Memory.Used() + x.parked
	if x.held != nil {
		n += int64(len(x.held.doc))
	}
	return n
}

// Park implements cursor.Holder.
func (x *streamSource) Park() (done bool) {
	x.parked, done = x.s.Park()
	return done
}
