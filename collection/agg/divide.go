package agg

import "github.com/cantledb/cantle/collection/order"

// Divide cuts the pipeline into the part that runs in each shard and the part that runs on the merged rows of
// all shards. If by is set, the rows of each shard are in this order and must be merged in it, by their
// SortKey, as the merge part expects. A pipeline that makes its rows itself is completely in the merge part.
func (p *Pipeline) Divide() (shards, merge *Pipeline, by *order.Pattern) {
	shards, merge = p.with(nil), p.with(nil)
	shards.fields = p.reads()
	if p.IsSource() {
		merge.stages = p.stages
		return shards, merge, nil
	}
	for i, s := range p.stages {
		split := s.Split()
		shards.stages = append(shards.stages, split.Shards...)
		if len(split.Merge) == 0 && split.Order == nil {
			continue
		}
		merge.stages = append(append(merge.stages, split.Merge...), p.stages[i+1:]...)
		return shards, merge, split.Order
	}
	return shards, merge, nil
}
