package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/plan"
)

// Sort returns an operator that delivers the rows of in in the order of a pattern; with a limit above 0, only
// the first rows. It spills to disk like the sort of a plan.
func Sort(in Operator, p *order.Pattern, limit int64) Operator {
	return &sorter{node: &plan.Sort{Pattern: p, Limit: limit}, in: in}
}

// SortStats appends the memory counters that explain prints for an operator made by Sort.
func SortStats(op Operator, b *bson.Builder) {
	s, ok := op.(*sorter)
	if !ok {
		return
	}
	b.Int64("totalDataSizeSortedBytesEstimate", s.size+int64(s.held))
	s.tracked.Append(b)
}
