package match

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Implied are intervals of the index on Path, ascending and without overlap, that contain the key of every document for
// which an $expr is true, if no document of the index has an array on the path; or that a $jsonSchema accepts. The
// planner uses them as bounds.
type Implied struct {
	Path      path.Path
	Intervals []Interval
}

// Implied returns the intervals that follow from comparisons of fields with values that do not depend on the document,
// if the expression is such a comparison, an $and that contains some, or an $or of which every clause bounds a path. env has the values of variables; without env,
// these values are constants. An expression compares values of different types and treats an array as one value. So
// the intervals differ from those of the query operators and hold only for indexes without arrays, and the expression
// must still be evaluated on each document.
// Manual: reference/operator/query/expr#behavior (index use).
func (n *Expr) Implied(env *mql.Env) []Implied { return implied(env, nil, n.e) }

func implied(env *mql.Env, list []Implied, e expr.Expr) []Implied {
	op, operands := expr.Operation(e)
	switch op {
	case "$and":
		for _, o := range operands {
			list = implied(env, list, o)
		}
		return list
	case "$or":
		return append(list, impliedByEach(env, operands)...)
	}
	if len(operands) != 2 {
		return list
	}
	left, right := operands[0], operands[1]
	p, ok := fieldOf(left)
	if !ok && op != "$in" {
		left, right, op = right, left, mirrored(op)
		p, ok = fieldOf(left)
	}
	if !ok || !ordered[op] {
		return list
	}
	v, ok := expr.Known(env, right)
	if !ok {
		return list
	}
	if ivs, ok := comparedTo(op, v); ok {
		list = append(list, Implied{p, ivs})
	}
	return list
}

// impliedByEach returns the paths that every clause of an $or bounds, with the union of their intervals.
func impliedByEach(env *mql.Env, clauses []expr.Expr) (out []Implied) {
	for i, c := range clauses {
		own := onePerPath(implied(env, nil, c))
		if i == 0 {
			out = own
			continue
		}
		var both []Implied
		for _, o := range out {
			if k := indexOfPath(own, o.Path); k >= 0 {
				both = append(both, Implied{o.Path, union(slices.Concat(o.Intervals, own[k].Intervals))})
			}
		}
		out = both
	}
	return out
}

// onePerPath intersects the intervals of each path. It leaves out paths with ranges of text: under a collation, their
// keys are in another order than their values, so that intersections and unions of ranges would lose some.
func onePerPath(list []Implied) (out []Implied) {
	for _, i := range list {
		if slices.ContainsFunc(i.Intervals, func(v Interval) bool { return v.endsWithText() && !v.IsPoint() }) {
			continue
		}
		if k := indexOfPath(out, i.Path); k < 0 {
			out = append(out, i)
		} else if !EndWithText(out[k].Intervals) || !EndWithText(i.Intervals) {
			out[k].Intervals = Intersect(out[k].Intervals, i.Intervals)
		}
	}
	return out
}

func indexOfPath(list []Implied, p path.Path) int {
	return slices.IndexFunc(list, func(i Implied) bool { return i.Path.String() == p.String() })
}

// ordered are the operators whose intervals comparedTo computes.
var ordered = map[string]bool{"$eq": true, "$gt": true, "$gte": true, "$lt": true, "$lte": true, "$in": true}

// comparedTo returns the intervals of index keys of values x for which {op: [x, v]} is true; ok is false if they are not
// known. A missing value has the key null, and sorts with undefined below null: the intervals for null, undefined and a
// missing v contain the keys of all three.
func comparedTo(op string, v bson.Value) (ivs []Interval, ok bool) {
	i := AllValues()
	switch op {
	case "$in":
		elements, ok := v.Array()
		if !ok {
			return nil, false
		}
		for e := range elements.Values() {
			one, _ := comparedTo("$eq", e)
			ivs = append(ivs, one...)
		}
		return union(ivs), true
	case "$eq":
		if v.IsNullish() {
			return []Interval{{undefined, bson.Null, true, true}}, true
		}
		return []Interval{point(v)}, true
	case "$gt", "$gte":
		i.Lo, i.LoInclusive = v, op == "$gte"
		if v.IsNullish() && (op == "$gte" || v.Type != bson.TypeNull) {
			i.Lo, i.LoInclusive = undefined, true
		}
	case "$lt", "$lte":
		i.Hi, i.HiInclusive = v, op == "$lte"
		if v.IsNullish() {
			i.Hi, i.HiInclusive = bson.Null, true
		}
	}
	if c := bson.Compare(i.Lo, i.Hi, nil); c > 0 || c == 0 && !(i.LoInclusive && i.HiInclusive) {
		return nil, true
	}
	return []Interval{i}, true
}

// mirrored returns the comparison with its operands exchanged.
func mirrored(op string) string {
	switch op {
	case "$gt":
		return "$lt"
	case "$gte":
		return "$lte"
	case "$lt":
		return "$gt"
	case "$lte":
		return "$gte"
	}
	return op
}

func fieldOf(e expr.Expr) (path.Path, bool) {
	text, ok := expr.FieldOf(e)
	if !ok {
		return path.Path{}, false
	}
	p, err := path.Compile(text)
	return p, err == nil && !p.HasPosition()
}
