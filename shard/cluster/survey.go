package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/router"
)

// Explains implements agg.Opener. A pipeline inside another one has no trace of its own, but its enclosing stage prints
// what it examined.
func (x *opener) Explains() bool { return x.o.explained() }

// Survey implements agg.Opener. It judges the candidate plans without a trial, so it reads and charges nothing.
func (x *opener) Survey(env *mql.Env, ns collection.Namespace, p *agg.Pipeline, by string) (a agg.Access, err error) {
	coll, p, _, err := x.resolve(env, ns, p)
	if err != nil || coll == nil || p.IsSource() {
		return a, err
	}
	p = p.Optimize()
	q, err := plan.OfFilter(env, coll, p.Filter())
	if err != nil {
		return a, err
	}
	if len(router.Targets(coll, q.Match, env.Collation == nil)) != 1 {
		p, _, _ = p.Divide()
	}
	f := p.Front()
	if q, err = reading(q, f, bson.Value{}); err != nil {
		return a, err
	}
	_, sols, err := x.c.candidates(x.o.forSubPipeline(env), q)
	if err != nil {
		return a, err
	}
	for _, s := range sols {
		finds, seeks := foundBy(s.Shards, by, by == coll.Options.TimeField)
		a.Indexed = a.Indexed || finds
		a.Direct = a.Direct || seeks && (f.Sort == nil || s.Sorted)
	}
	return a, nil
}

// foundBy reports whether a plan finds the documents with given values at a path without reading all others (finds),
// and whether an index that has these documents side by side does it for every value (seeks). isTime is true if the path is
// the time field of a time-series collection.
func foundBy(n plan.Node, by string, isTime bool) (finds, seeks bool) {
	switch n := n.(type) {
	case *plan.PointRead:
		return true, true
	case *plan.RecordScan:
		if n.Times != nil {
			return isTime && n.ReadsInstants(), false
		}
		return n.Bounds.Ranges != nil || n.Bounds.IDs != nil, n.Bounds.IDs != nil && by == "_id"
	case *plan.IndexScan:
		finds = n.Key == nil && bounds(n, by)
		return finds, finds && n.Index.Partial == nil
	}
	inputs := n.Inputs()
	finds, seeks = len(inputs) > 0, len(inputs) > 0
	for _, in := range inputs {
		f, s := foundBy(in, by, isTime)
		finds, seeks = finds && f, seeks && s
	}
	return finds, seeks
}

// bounds reports whether an index scan reads single values of the field by, and of the fields before it.
func bounds(n *plan.IndexScan, by string) bool {
	for i, name := range n.Index.Fields() {
		if i >= len(n.Bounds) || !n.Bounds[i].IsPoint() {
			return false
		}
		if name == by {
			return true
		}
		if name == index.WildcardPath {
			return i+1 < len(n.Bounds) && n.Bounds[i+1].IsPoint()
		}
	}
	return false
}
