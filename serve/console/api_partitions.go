package console

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// custom runs a custom action on a collection, with further arguments.
func (q *query) custom(action string, arguments ...bson.E) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	reply, err := q.runCommand(ns.DB, append(bson.D{{"customAction", action}, {"collection", ns.Coll}}, arguments...))
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
	return q.custom("GetPartitions", bson.E{"top", top})
}

// fields returns the arguments with the given names that the request's body has, for a command.
func (q *query) fields(names ...string) (out bson.D) {
	for _, name := range names {
		if v := q.body.Get(name); !v.IsNullish() {
			out = append(out, bson.E{name, v})
		}
	}
	return out
}

// mergePartitions runs MergePartitions.
func mergePartitions(q *query) (any, error) {
	return q.custom("MergePartitions", bson.E{"whatIf", q.body.Get("whatIf").Truthy()})
}

// redistribute runs RedistributeThroughput.
func redistribute(q *query) (any, error) {
	return q.custom("RedistributeThroughput", q.fields("targets", "sources", "equal")...)
}

// setThroughput changes the provisioned throughput of a collection; if necessary it also changes the mode, from
// manual to autoscale or back.
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
	if manual > 0 {
		return q.custom("UpdateCollection", bson.E{"offerThroughput", manual})
	}
	return q.custom("UpdateCollection", bson.E{"autoScaleSettings", bson.D{{"maxThroughput", auto}}})
}

// splitPartition halves a partition; GetPartitions returns its bounds.
func splitPartition(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	reply, err := q.runCommand(ns.DB, bson.D{{"customAction", "GetPartitions"}, {"collection", ns.Coll}})
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
		reply, err := q.runCommand("admin", bson.D{{"split", ns.String()}, {"bounds", bson.A{d.Get("min"), d.Get("max")}}})
		if err != nil {
			return nil, err
		}
		return raw(reply), nil
	}
	return nil, mongoerr.New(mongoerr.BadValue, "%s has no partition '%s' that could be split", ns, id)
}
