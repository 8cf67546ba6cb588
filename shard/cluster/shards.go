package cluster

import (
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
)

// opened is an opened read: an operator and, if it reads a collection, its plan and
// its shards.
type opened struct {
	exec.Operator
	Solution *plan.Solution
	Shards   []*shard.Descriptor
}

// onShards builds a solution on each of the shards. rows is the number of rows that will be
// requested from each, 0 if unknown. src holds what the shards have in common. wrap completes the
// operator of one shard, and closes it on failure; a nil wrap changes nothing. After an error
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

// gather combines the rows of several shards: merged by the order by, or one shard after another if by is nil.
func gather(ops []exec.Operator, by *order.Pattern) exec.Operator {
	if by != nil {
		return exec.Merge(by, ops)
	}
	return exec.Concat(ops)
}

// skipAndLimit applies the skip and the limit of a solution to its merged rows.
func skipAndLimit(sol *plan.Solution, in exec.Operator) exec.Operator {
	if sol.Skip > 0 {
		in = exec.Skip(in, sol.Skip)
	}
	if sol.Limit > 0 {
		in = exec.Limit(in, sol.Limit)
	}
	return in
}

// rowsWanted returns the maximum number of rows needed from one shard, 0 if all are.
func rowsWanted(sol *plan.Solution) int64 {
	if sol.Limit <= 0 {
		return 0
	}
	return sol.Skip + sol.Limit
}
