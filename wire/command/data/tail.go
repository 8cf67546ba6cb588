package data

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/operations"
)

// findTail runs a find with the option tailable, whose cursor waits for new documents of a capped collection or of
// the change log.
// Manual: reference/command/find (tailable). Errors: BadValue (2), InvalidPipelineOperator (168) on a view.
func findTail(c *command.Call, ns collection.Namespace, a findArgs) error {
	if a.single {
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with the 'singleBatch' option")
	}
	if ns == cluster.OplogNamespace && c.Server.Virtual.Is(ns) {
		return tailOplog(c, a)
	}
	if c.Server.Virtual.IsDerived(ns) {
		return mongoerr.New(mongoerr.InvalidPipelineOperator, "Option tailable not supported in aggregation: %s is not a collection", ns)
	}
	o := cursor.Options{Namespace: ns, NoTimeout: a.noTimeout, Tailable: true, AwaitData: a.awaitData}
	t, err := c.Cluster.Tail(&c.Op, ns, a.Find)
	if err != nil {
		return err
	}
	if t == nil {
		s, err := c.Cluster.Find(&c.Op, ns, a.Find)
		if err != nil {
			return err
		}
		return c.OpenCursor(o, &streamSource{s: s, op: &c.Op}, max(a.batchSize(c), 1), false)
	}
	if a.batchSize(c) == 0 {
		t.Pause()
	}
	return c.OpenCursor(o, &tailSource{t, &c.Op}, a.batchSize(c), false)
}

// tailSource is the source of documents for a tailable cursor over a capped collection: each batch reads a new
// snapshot, after the last document of the batch before.
type tailSource struct {
	t  *cluster.Tail
	op *cluster.Op
}

// Append implements cursor.Source.
func (x *tailSource) Append(ctx context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
	env := x.op.Env
	env.SetContext(ctx)
	start := b.Len()
	defer x.t.Pause()
	defer env.ReleaseSlot()
	for most == 0 || n < most {
		row, err := x.t.Next(env)
		if err != nil {
			return n, false, err
		}
		if row == nil {
			return n, !x.t.StartedEmpty(), nil
		}
		if n > 0 && b.Len()-start+len(row.Doc) > maxBytes {
			break
		}
		b.Value("", row.Doc.Value())
		x.t.Take()
		n++
	}
	return n, true, nil
}

// show stores the plan and the memory of the tail in the progress of the getMore that continues it, so that currentOp
// shows them.
func (x *tailSource) show(p *operations.Progress) {
	x.op.Planned = &p.Plan // the read of every batch is planned
	p.Memory.Store(x.op.Env.Memory)
}

// Wait implements cursor.Waiter.
func (x *tailSource) Wait(ctx context.Context) error { return x.t.Wait(ctx) }

// Close implements cursor.Source.
func (x *tailSource) Close() { x.t.Pause() }

// charge returns the charge of the batches so far.
func (x *tailSource) charge() int64 { return int64(x.op.Receipt.Total()) }

// class returns the class of the command that opened the cursor.
func (x *tailSource) class() ratelimit.Class { return x.op.Paid() }

// cap returns the cap of the command that opened the cursor, nil for none.
func (x *tailSource) cap() *ratelimit.RequestCap { return x.op.Cap }
