package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

// edge returns an order in which the group needs only the first document of each value of the path key, its _id, or
// with last only the last document: all accumulators are $top, or all $bottom, by this order. It is nil
// if there is none. The path itself is left out of the order, because it is equal within a group.
func (s *groupStage) edge(key string) (by *order.Pattern, last bool) {
	for _, o := range s.out {
		f := topOf(o.fn)
		if f == nil || f.n != nil || f.by.HasMeta() {
			return nil, false
		}
		p := order.Pattern{}
		for _, part := range f.by.Parts {
			if part.Path.String() != key {
				p.Parts = append(p.Parts, part)
			}
		}
		if by != nil && (last != f.bottom || !p.Equal(*by)) {
			return nil, false
		}
		by, last = &p, f.bottom
	}
	return by, last
}

func topOf(fn Func) *topFunc {
	switch fn := fn.(type) {
	case *topFunc:
		return fn
	case *sortedEdge:
		return fn.topFunc
	}
	return nil
}

// ByEdges returns an equivalent pipeline in which a $sort and a $group by a path behind it, with $first accumulators or
// with $last accumulators only, are one $group by $top or $bottom; nil if the pipeline does not begin so, after
// $match stages. This form needs no order of its input, so that an index scan can skip from group to group, and each shard
// can find its own first document of a group. p must come from Optimize.
// Manual: reference/operator/aggregation/group#optimizations.
func (p *Pipeline) ByEdges() *Pipeline {
	_, rest := p.filter()
	if p.metas != 0 || len(rest) < 2 {
		return nil
	}
	sort, ok := rest[0].(*sortStage)
	group, ok2 := rest[1].(*groupStage)
	if !ok || !ok2 || sort.limit > 0 || sort.pattern.HasMeta() || group.mode != groupWhole {
		return nil
	}
	if _, ok := expr.FieldPath(group.id); !ok || len(group.out) == 0 {
		return nil
	}
	with := *group
	with.out = nil
	for _, o := range group.out {
		f, ok := o.fn.(*unaryFunc)
		if !ok {
			return nil
		}
		top := &topFunc{name: "$top", output: f.arg, by: sort.pattern}
		switch f.name {
		case accFirst.Name:
		case accLast.Name:
			top.name, top.bottom = "$bottom", true
		default:
			return nil
		}
		with.out = append(with.out, output{name: o.name, fn: &sortedEdge{top}})
	}
	if by, _ := with.edge(""); by == nil {
		return nil // $first and $last
	}
	return p.with(splice(p.stages, len(p.stages)-len(rest), 2, &with))
}

// sortedEdge is a $top or $bottom that replaces a $first or $last behind a $sort. Errors in its argument have the codes
// of the replaced accumulator.
type sortedEdge struct{ *topFunc }

func (f *sortedEdge) Start(env *mql.Env, id bson.Value, s *expr.Scratch) (State, error) {
	t, err := f.topFunc.Start(env, id, s)
	return sortedEdgeState{t}, err
}

type sortedEdgeState struct{ State }

func (t sortedEdgeState) Add(env *mql.Env, doc bson.Raw, s *expr.Scratch) (int, error) {
	grew, err := t.State.Add(env, doc, s)
	return grew, zeroDivision(err)
}
