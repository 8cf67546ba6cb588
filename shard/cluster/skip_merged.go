package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
)

// skipMerged opens a solution whose skip drops the merged rows of all shards (plan.Solution.AfterMerge). The shards
// deliver index keys where the plan permits it, and only the documents behind the skip are fetched. With several shards,
// trace gets the operators of each; with one, the caller adds the result.
func (c *Cluster) skipMerged(o *Op, trace *Trace, sol *plan.Solution, src exec.Source, shards []*shard.Descriptor) (exec.Operator, error) {
	var parts []*exec.ShardPart
	ops, err := onShards(sol, rowsWanted(sol), src, shards, func(d *shard.Descriptor, op exec.Operator) (exec.Operator, error) {
		if len(shards) == 1 {
			return op, nil
		}
		p := exec.NewShardPart(sol, int(d.ID), op)
		trace.add(d, p)
		parts = append(parts, p)
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	if len(ops) > 1 {
		ops = c.parallel(o, sol, ops)
	}
	return exec.AfterMerge(sol, src, gather(ops, sol.Pattern), parts), nil
}

// runSkipping runs a pipeline whose front has a skip on a collection of several shards: the front as a find, and the
// remaining stages on its rows. It returns false if the front's plan does not skip merged rows.
func (x *opener) runSkipping(env *mql.Env, q *plan.Query, p *agg.Pipeline, hint bson.Value, shards []*shard.Descriptor) (opened, bool, error) {
	if q.Coll.Map.Len() == 1 {
		return opened{}, false, nil
	}
	f := p.Front()
	if f.Skip == 0 || f.Count {
		return opened{}, false, nil
	}
	r, err := reading(q, f, hint)
	if err != nil {
		return opened{}, false, err
	}
	sol, err := x.c.chooseUncounted(x.o, x.v, r)
	if err != nil {
		return opened{}, false, err
	}
	if _, skip := sol.AfterMerge(); skip == nil {
		return opened{}, false, nil
	}
	x.c.chosen(x.o, r, sol)
	counts, err := x.skipCounts(q.Coll, sol, shards)
	if err != nil {
		return opened{}, false, err
	}
	op, err := x.c.skipMerged(x.o, x.trace, sol, x.c.source(x.o, x.v, q.Coll, counts), shards)
	if err != nil {
		return opened{}, false, err
	}
	if len(shards) > 1 {
		op = exec.CountReturnedByShard(op)
	}
	if f.SortKey() {
		op = exec.WithSortKey(op, f.Sort)
	}
	if op, err = f.Remaining.Open(env, op, x); err != nil {
		return opened{}, false, err
	}
	if len(shards) == 1 {
		x.trace.add(shards[0], op)
		op = exec.CountReturnedAt(op, int(shards[0].ID))
	}
	return opened{op, sol, shards}, true, nil
}
