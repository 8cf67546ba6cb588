package command

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/cursor"
)

// tailOplog answers a find with tailable on local.oplog.rs.
// Manual: core/tailable-cursors, core/replica-set-oplog.
func (c *Call) tailOplog(a findArgs) error {
	ns := cluster.OplogNamespace
	s, err := c.Cluster.Aggregate(&c.Op, ns, findStages(a.Find), bson.Value{})
	if err != nil {
		return err
	}
	o := cursor.Options{Namespace: ns, NoTimeout: a.noTimeout, Tailable: true, AwaitData: a.awaitData}
	return c.openCursor(o, &oplogSource{streamSource{s: s, op: &c.Op}}, a.batchSize(), false)
}

// oplogSource makes a cursor's source of the change log: it has no end.
type oplogSource struct{ streamSource }

// Append see cursor.Source.
func (x *oplogSource) Append(ctx context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
	n, _, err = x.streamSource.Append(ctx, b, most, maxBytes)
	return n, err == nil, err
}

// Wait see cursor.Waiter.
func (x *oplogSource) Wait(ctx context.Context) error { return x.s.WaitOplog(ctx) }
