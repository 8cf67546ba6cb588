package exec

import (
	"fmt"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
)

// Build returns the tree of operators that runs a plan on one shard. The operators read nothing before the
// first Next.
func Build(n plan.Node, src Source) (Operator, error) {
	switch n := n.(type) {
	case *plan.EOF:
		return &eof{node: n}, nil
	case *plan.PointRead:
		return &pointRead{node: n, src: src}, nil
	case *plan.RecordScan:
		return newRecordScan(n, src), nil
	case *plan.FastCount:
		return newTally(n, src), nil
	case *plan.Sample:
		p, err := NewSampleShard(n, src, nil)
		return NewSample(n, src, []*SampleShard{p}, nil), err
	case *plan.IndexScan:
		return buildIndexScan(n, src), nil
	case *plan.Fetch:
		in, err := Build(n.Input, src)
		if err == nil && n.AnyOrder {
			in = &recordOrder{in: in, src: src}
		}
		return &fetch{node: n, src: src, in: in}, err
	case *plan.Or:
		in, err := buildAll(n.Branches, src)
		return &union{node: n, in: in}, err
	case *plan.And:
		in, err := buildAll(n.Branches, src)
		return &intersect{node: n, in: in}, err
	case *plan.SortMerge:
		in, err := buildAll(n.Branches, src)
		return newSortMerge(n, in), err
	case *plan.TextOr:
		in, err := buildAll(n.Branches, src)
		return &textOr{node: n, in: in}, err
	case *plan.TextMatch:
		in, err := Build(n.Input, src)
		return &textMatch{node: n, in: in}, err
	case *plan.GeoNear:
		return newGeoNear(n, src), nil
	case *plan.Sort:
		in, err := Build(n.Input, src)
		return &sorter{node: n, in: in}, err
	case *plan.TimeSort:
		return &timeSort{node: n, in: newRecordScan(n.Input, src)}, nil
	case *plan.SortKey:
		in, err := Build(n.Input, src)
		return &keyed{node: n, in: in}, err
	case *plan.Skip:
		in, err := Build(n.Input, src)
		if n.Merged {
			return in, err // the rows of one shard, as in a trial, do not show which are skipped
		}
		return &skip{node: n, in: in, left: n.N}, err
	case *plan.Limit:
		in, err := Build(n.Input, src)
		return &limit{node: n, in: in, left: n.N}, err
	case *plan.Project, *plan.ReturnKey, *plan.RecordID:
		in, err := Build(n.Inputs()[0], src)
		return present(n, in), err
	}
	mongoerr.Bug("no operator for %s", fmt.Sprintf("%T", n))
	return nil, nil
}

// present returns the operator of a node that gives the rows of an operator their final form; nil for other nodes.
func present(n plan.Node, in Operator) Operator {
	switch n := n.(type) {
	case *plan.Project:
		return &projection{node: n, in: in}
	case *plan.ReturnKey:
		return &returnKey{node: n, in: in}
	case *plan.RecordID:
		return &recordID{node: n, in: in}
	}
	return nil
}

func buildAll(ns []plan.Node, src Source) ([]Operator, error) {
	out := make([]Operator, len(ns))
	for i, n := range ns {
		var err error
		if out[i], err = Build(n, src); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// buildIndexScan returns the operator of an index scan on one shard. Until a split or merge of shards has settled, a
// shard's index entries may lie in several partitions: the operator then merges one scan of each by index key.
func buildIndexScan(n *plan.IndexScan, src Source) Operator {
	parts := src.Shard.Partitions
	if len(parts) == 1 {
		return newIndexScan(n, src, parts[0], !n.Sibling)
	}
	in := make([]Operator, len(parts))
	for i, p := range parts {
		in[i] = newIndexScan(n, src, p, i == 0 && !n.Sibling)
	}
	return &merge{node: n, reverse: n.Reverse, in: in, dedupe: n.Dedupe}
}
