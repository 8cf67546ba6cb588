package data

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
)

// tailOplog answers a find with tailable on local.oplog.rs.
// Manual: core/tailable-cursors, core/replica-set-oplog.
func tailOplog(c *command.Call, a findArgs) error {
	ns := cluster.OplogNamespace
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(a.Find.Stages()), bson.Value{})
	if err != nil {
		return err
	}
	o := cursor.Options{Namespace: ns, NoTimeout: a.noTimeout, Tailable: true, AwaitData: a.awaitData}
	return c.OpenCursor(o, &oplogSource{streamSource{s: s, op: &c.Op}}, a.batchSize(c), false)
}

// oplogSource is the source of documents for a tailable cursor over the change log. It never ends: at the end of the
// log it waits.
type oplogSource struct{ streamSource }

// Append implements cursor.Source.
func (x *oplogSource) Append(ctx context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
	n, _, err = x.streamSource.Append(ctx, b, most, maxBytes)
	return n, err == nil, err
}

// Wait implements cursor.Waiter.
func (x *oplogSource) Wait(ctx context.Context) error { return x.s.WaitOplog(ctx) }

// lastEntriesMax is the maximum of limit plus skip up to which a find in the order {$natural: -1} reads only the end
// of the change log.
const lastEntriesMax = 1000

// fromTheEnd reports whether a find reads only the last few entries of the change log, by the sort {$natural: -1} and
// a limit. Tools send such a find first.
func (a *findArgs) fromTheEnd() bool {
	n, ok := a.Sort.Get("$natural").AsInt64()
	return ok && n < 0 && a.Sort.Len() == 1 && a.Limit > 0 && a.Limit+a.Skip <= lastEntriesMax
}

// lastEntries adds to a find of the last entries of the change log the shortest period that has enough entries, so
// that it does not read the whole log. It tries the last second, then eight, then sixty-four, and so on. If the
// period would begin before the oldest entry, the find is left as it is.
// Errors: errors of an aggregate.
func lastEntries(c *command.Call, a *findArgs) error {
	oldest, newest, err := c.Cluster.OplogRange(c.Ctx)
	if err != nil {
		return err
	}
	for seconds := uint32(1); newest.Seconds() > seconds; seconds *= 8 {
		from := newest.Seconds() - seconds
		if from < oldest.Seconds() || seconds > 1<<28 {
			break
		}
		filter, want, n := since(from, a.Filter), a.Skip+a.Limit, int64(0)
		count := func(bson.Raw) error { n++; return nil }
		if err := c.Drain(cluster.OplogNamespace, plan.Find{Filter: filter, Limit: want}.Stages(), bson.Value{}, count); err != nil {
			return err
		}
		if n == want {
			a.Filter = filter
			break
		}
	}
	return nil
}

// since returns a filter of the change log with a lower bound added: ts is at least the given time, in seconds since
// 1970.
func since(seconds uint32, filter bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	b.BeginArray("$and")
	b.BeginDoc("")
	b.BeginDoc("ts")
	b.Timestamp("$gte", seconds, 0)
	b.End()
	b.End()
	b.Raw("", filter)
	b.End()
	return b.Doc()
}
