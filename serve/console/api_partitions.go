package console

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// custom runs a custom action on a collection.
func (q *query) custom(action string, more func(b *bson.Builder)) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	reply, err := q.runCommand(ns.DB, func(b *bson.Builder) {
		b.String("customAction", action)
		b.String("collection", ns.Coll)
		more(b)
	})
	if err != nil {
		return nil, err
	}
	return raw(reply), nil
}

// partitions returns the reply of GetPartitions.
func partitions(q *query) (any, error) {
	top, err := q.number("top", 10, 1, 64)
	if err != nil {
		return nil, err
	}
	return q.custom("GetPartitions", func(b *bson.Builder) { b.Int64("top", top) })
}

// copyFields copies those of the arguments that the body has.
func (q *query) copyFields(b *bson.Builder, names ...string) {
	for _, name := range names {
		if v := q.body.Get(name); !v.IsNullish() {
			b.Value(name, v)
		}
	}
}

// mergePartitions runs MergePartitions.
func mergePartitions(q *query) (any, error) {
	return q.custom("MergePartitions", func(b *bson.Builder) { b.Bool("whatIf", q.body.Get("whatIf").Truthy()) })
}

// redistribute runs RedistributeThroughput.
func redistribute(q *query) (any, error) {
	return q.custom("RedistributeThroughput", func(b *bson.Builder) { q.copyFields(b, "targets", "sources", "equal") })
}

// setThroughput changes the throughput of a collection, from manual to autoscale and back
// if necessary.
func setThroughput(q *query) (any, error) {
	manual, err := q.number("manual", 0, 0, 1<<40)
	if err != nil {
		return nil, err
	}
	auto, err := q.number("autoscale", 0, 0, 1<<40)
	if err != nil {
		return nil, err
	}
	if (manual == 0) == (auto == 0) {
		return nil, mongoerr.New(mongoerr.BadValue, "Give manual (RU/s) or autoscale (maximum RU/s)")
	}
	return q.custom("UpdateCollection", func(b *bson.Builder) {
		if manual > 0 {
			b.Int64("offerThroughput", manual)
			return
		}
		b.BeginDoc("autoScaleSettings")
		b.Int64("maxThroughput", auto)
		b.End()
	})
}

// splitPartition halves a partition; GetPartitions returns its bounds.
func splitPartition(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	reply, err := q.runCommand(ns.DB, func(b *bson.Builder) {
		b.String("customAction", "GetPartitions")
		b.String("collection", ns.Coll)
	})
	if err != nil {
		return nil, err
	}
	id := q.text("id")
	list, _ := reply.Get("partitions").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		if s, _ := d.Get("id").Str(); s != id {
			continue
		}
		if d.Get("min").IsMissing() {
			break
		}
		reply, err := q.runCommand("admin", func(b *bson.Builder) {
			b.String("split", ns.String())
			b.BeginArray("bounds")
			b.Value("", d.Get("min"))
			b.Value("", d.Get("max"))
			b.End()
		})
		if err != nil {
			return nil, err
		}
		return raw(reply), nil
	}
	return nil, mongoerr.New(mongoerr.BadValue, "%s has no partition '%s' that could be split", ns, id)
}
