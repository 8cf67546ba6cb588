package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/router"
)

// foreignOp delivers the rows that a stage such as $lookup reads from another collection, and charges the reads to
// that collection.
type foreignOp struct {
	exec.Operator
	coll    uint64
	probing ratelimit.Probing
	hits    int    // joined values (probes) without a row so far: each row counts as the first one of a further probe
	trace   *Trace // the operators on the shards; nil if the command is not explained
}

// Explain prints the operators on all shards, whose counters the stage sums.
func (f *foreignOp) Explain(b *bson.Builder, stats bool) {
	if f.trace == nil || len(f.trace.Parts) < 2 {
		f.Operator.Explain(b, stats)
		return
	}
	b.BeginArray("shards")
	for _, p := range f.trace.Parts {
		b.BeginDoc("")
		p.Operator.Explain(b, stats)
		b.End()
	}
	b.End()
}

func (f *foreignOp) Next(env *mql.Env) (*exec.Row, error) {
	if env.Meter == nil {
		return f.Operator.Next(env)
	}
	collection, probing := env.Meter.Collection(), env.Meter.Probe(f.probing)
	env.Meter.SetCollection(f.coll)
	r, err := f.Operator.Next(env)
	if r != nil && f.probing == ratelimit.ProbePoints {
		env.Meter.Add(r.Shard, ratelimit.PointReadByte, int64(len(r.Doc))-env.Meter.Prices().FirstBytes)
	}
	env.Meter.Probe(probing)
	if r != nil && f.hits > 0 {
		f.hits--
		if f.probing == ratelimit.ProbeQueries {
			env.Meter.Add(r.Shard, ratelimit.ResultSet, 1)
		}
	}
	env.Meter.SetCollection(collection)
	return r, err
}

// chargeProbes charges a batch of joined values (probes), which one plan reads from another collection, like the
// separate queries or point reads that the batch replaces, each in the partitions that it would visit. It returns the
// kind by which foreignOp charges the rows.
// Source: the price list, rule R8.
func chargeProbes(env *mql.Env, coll *catalog.Collection, p *agg.Probes, throughView bool) (ratelimit.Probing, error) {
	if p == nil || coll == nil || env.Meter == nil {
		return ratelimit.NotProbing, nil
	}
	kind := ratelimit.ProbeQueries
	if p.Path == "_id" && p.Alone && !throughView && env.Collation == nil && !coll.Options.OwnOrder() &&
		(!coll.Sharded() || coll.Key.IsID() && coll.Key.TailParts() == 0) {
		kind = ratelimit.ProbePoints
	}
	before := env.Meter.Collection()
	env.Meter.SetCollection(uint64(coll.ID))
	defer env.Meter.SetCollection(before)
	for _, v := range p.Values {
		if err := env.Meter.CheckCap(); err != nil {
			return kind, err
		}
		shards := coll.Map.Shards()
		if len(shards) > 1 {
			b := bson.NewBuilder(nil)
			b.BeginDoc(p.Path)
			b.Value("$eq", v)
			b.End()
			n, err := match.Parse(env, b.Doc())
			if err != nil {
				return kind, err
			}
			shards = router.Targets(coll, n, env.Collation == nil)
		}
		for _, d := range shards {
			if kind == ratelimit.ProbePoints {
				env.Meter.PointRead(int(d.ID), 0)
			} else {
				env.Meter.Visit(int(d.ID), 1)
			}
		}
	}
	return kind, nil
}
