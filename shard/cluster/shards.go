package cluster

import (
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
)

// opened is what a read opened: an operator, and where it runs by which plan if it reads
// a collection.
type opened struct {
	exec.Operator
	Solution *plan.Solution
	Shards   []*shard.Descriptor
}

// onShards builds a solution on each of the shards, of which so many rows each will be
// asked for, 0 if that is unknown. src is what they have in common. wrap completes what
// runs on one shard, and closes it when it fails; nil leaves it as it is. After an error
// nothing is open.
func onShards(sol *plan.Solution, rows int64, src exec.Source, shards []*shard.Descriptor,
	wrap func(d *shard.Descriptor, in exec.Operator) (exec.Operator, error)) ([]exec.Operator, error) {
	ops := make([]exec.Operator, 0, len(shards))
	for _, d := range shards {
		src.Shard = d
		op, err := exec.BuildChosen(sol, rows, src)
		if err == nil && wrap != nil {
			op, err = wrap(d, op)
		}
		if err != nil {
			exec.Concat(ops).Close()
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// gather puts the rows of shards together, in an order if there is one.
func gather(ops []exec.Operator, by *order.Pattern) exec.Operator {
	if by != nil {
		return exec.Merge(by, ops)
	}
	return exec.Concat(ops)
}

// cut applies the skip and the limit of a solution to its merged rows.
func cut(sol *plan.Solution, in exec.Operator) exec.Operator {
	if sol.Skip > 0 {
		in = exec.Skip(in, sol.Skip)
	}
	if sol.Limit > 0 {
		in = exec.Limit(in, sol.Limit)
	}
	return in
}

// rowsWanted is how many rows of one shard are needed at most, 0 if all are.
func rowsWanted(sol *plan.Solution) int64 {
	if sol.Limit <= 0 {
		return 0
	}
	return sol.Skip + sol.Limit
}
