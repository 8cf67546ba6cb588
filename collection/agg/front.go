package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/order"
)

// Front holds the leading stages of a pipeline in the form of a find, which the planner executes: the documents
// that match Filter, in the order of Sort, without the first Skip, at most Limit, with the fields of
// Projection. Remaining is the rest of the pipeline, which runs on the result.
type Front struct {
	Filter match.Node     // nil keeps everything
	Sort   *order.Pattern // nil for any order
	Skip   int64
	Limit  int64 // 0 = all
	// Projection is an inclusion projection of the fields that are needed; nil
	// means whole documents. Rows may hold more.
	Projection bson.Raw
	// Count reports that Remaining uses only the number of rows.
	Count bool
	// Tally reports that Remaining can read a plan.FastCount, which has only the number of rows, in place of a
	// scan.
	Tally bool
	// AnyOrder reports that Remaining reads all rows first, and that its result does not depend on their order.
	AnyOrder bool
	// Distinct is a path if Remaining needs one row per value of the path, because it groups by the path and
	// reads nothing else; otherwise it is "". An index scan over the path can deliver these rows if no value of
	// the path is an array.
	Distinct string
	// Edge is set if Remaining needs, of the documents of each value of Distinct, only the first one in this
	// order, or with EdgeLast the last one, and removes others itself.
	Edge     *order.Pattern
	EdgeLast bool
	// Metas are the kinds of metadata that Remaining reads and that rows have only on request, as bits:
	// expr.MetaIndexKey, and expr.MetaSortKey of Sort.
	Metas     uint32
	Remaining *Pipeline
}

// SortKey reports whether Remaining reads {$meta: "sortKey"} of Sort.
func (f *Front) SortKey() bool { return f.Metas&(1<<expr.MetaSortKey) != 0 }

// FilterAfterSource returns the filter of the $match stages directly behind the first stage, which makes the pipeline's
// rows, up to the first one that reads metadata. It is nil if there are none.
func (p *Pipeline) FilterAfterSource() match.Node {
	var all []match.Node
	for _, s := range p.stages[1:] {
		m, ok := s.(*matchStage)
		if !ok || m.meta {
			break
		}
		all = append(all, m.node)
	}
	if all == nil {
		return nil
	}
	return match.AllOf(all...)
}

// Filter returns the filter of the pipeline's leading $match stages, or of a leading $geoNear with a key, by which the
// shards with possible matches are selected. Nil means everything.
func (p *Pipeline) Filter() match.Node {
	n, _ := p.filter()
	return n
}

// filter returns the filter of the leading stages, and the stages without those that the filter replaces
// completely. A $geoNear stays, because it sorts the documents found.
func (p *Pipeline) filter() (n match.Node, rest []Stage) {
	rest = p.stages
	if g, ok := p.GeoNear(); ok && g.Key != "" {
		// The stage stays in the rest, because it sorts what the index finds.
		n = match.NewNear(path.Must(g.Key), g.Near)
		if g.Query != nil {
			n = match.AllOf(n, g.Query)
		}
	}
	for len(rest) > 0 {
		m, ok := rest[0].(*matchStage)
		if !ok || m.meta && match.Features(m.node)&match.UsesText == 0 {
			break
		}
		if n == nil {
			n = m.node
		} else {
			n = match.AllOf(n, m.node)
		}
		rest = rest[1:]
	}
	return n, rest
}

// Front splits off the leading stages that a find can execute. The pipeline must come from Optimize, or be the
// shards' part from Divide.
func (p *Pipeline) Front() Front {
	f := Front{}
	fields := p.reads()
	f.Projection = fields.projection()
	filter, stages := p.filter()
	f.Filter = filter
	if g, ok := p.GeoNear(); ok && g.Key != "" {
		f.Projection = nil
	}
	if len(stages) > 0 {
		if s, ok := stages[0].(*sortStage); ok && !s.pattern.HasMeta() {
			f.Sort, f.Limit = &s.pattern, s.limit
			stages = stages[1:]
		}
	}
	for len(stages) > 0 && f.cut(stages[0]) {
		stages = stages[1:]
	}
	f.Remaining = p.with(stages)
	kinds := metaKinds(1 << expr.MetaIndexKey)
	if f.Sort != nil {
		kinds |= 1 << expr.MetaSortKey
	}
	f.Metas = uint32(p.metas & kinds)
	f.narrow()
	return f
}

// cut adds a $skip or $limit stage to the front and reports whether it could. A $skip of at least as many rows
// as the limit leaves cannot be added.
func (f *Front) cut(s Stage) bool {
	switch s := s.(type) {
	case *skipStage:
		if f.Limit > 0 && s.n >= f.Limit || f.Skip+s.n < 0 {
			return false
		}
		if f.Limit > 0 {
			f.Limit -= s.n
		}
		f.Skip += s.n
		return true
	case *limitStage:
		if f.Limit == 0 || s.n < f.Limit {
			f.Limit = s.n
		}
		return true
	}
	return false
}

// narrow sets Count, Tally, Distinct and Edge if the first remaining stage needs less than whole rows and no remaining
// stage reads metadata.
func (f *Front) narrow() {
	if len(f.Remaining.stages) == 0 || f.Remaining.metas != 0 {
		return // the rows' metadata is needed
	}
	switch s := f.Remaining.stages[0].(type) {
	case *countStage:
		f.Count, f.Tally, f.AnyOrder = !s.merge, !s.merge, !s.merge
	case *groupStage:
		if s.mode == groupMerge {
			return
		}
		if f.Skip == 0 && f.Limit == 0 {
			f.perValue(s)
		}
		reads := false
		s.Reads(func(string) { reads = true })
		f.Count = !reads
		f.Tally = f.Count && s.tallies()
		f.AnyOrder = s.takesAnyOrder()
	}
}

// perValue sets Distinct and Edge for a $group that needs one row per value of a path.
func (f *Front) perValue(s *groupStage) {
	key, ok := expr.FieldPath(s.id)
	if !ok {
		return
	}
	if len(s.out) == 0 {
		f.Distinct = key
		return
	}
	if f.Sort != nil {
		return
	}
	if f.Edge, f.EdgeLast = s.edge(key); f.Edge != nil {
		f.Distinct = key
	}
}
