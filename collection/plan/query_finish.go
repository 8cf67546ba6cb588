package plan

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/project"
)

// nearOrder is the order of a search by distance.
var nearOrder = order.Pattern{Parts: []order.Part{{Name: "$near", Dir: 1, Meta: "geoNearDistance"}}}

// finish completes a plan: it adds the nodes for sort, projection, skip and limit above n, which reads the
// rows. sorted reports that the rows of n are in the query's order, covered that they are made from index keys.
// If the collection has one shard, skip and limit run on the shard; otherwise they apply to the merged rows of all
// shards, of which each delivers at most skip + limit (skipAfterMerge).
func (q *Query) finish(n Node, sorted bool, index string, covered bool) *Solution {
	s := &Solution{Index: index, Sorted: sorted && q.Pattern != nil}
	skip, limit := int64(0), int64(0)
	if q.Limit > 0 && q.Skip+q.Limit > 0 {
		limit = q.Skip + q.Limit
	}
	single := q.Coll.Map != nil && q.Coll.Map.Len() == 1
	if single {
		skip = q.Skip
	} else {
		s.Skip, s.Limit = q.Skip, q.Limit
	}
	if _, ok := n.(*PointRead); ok && q.Skip == 0 && q.Pattern == nil {
		limit, s.Limit = 0, 0 // one row at most
	}
	limited := false
	switch {
	case q.Pattern != nil:
		s.Pattern = q.Pattern
		if !sorted {
			inAnyOrder(n)
			n = &Sort{Input: n, Pattern: q.Pattern, Limit: limit}
			limited = true
		}
	case q.near != nil:
		s.Pattern = &nearOrder
	}
	if limit == 0 || limited {
		batchFetches(n)
	}
	if q.AnyOrder && q.Pattern == nil && limit == 0 && skip == 0 && s.Skip == 0 {
		inAnyOrder(n)
	}
	if skip > 0 && !(q.Pattern != nil && !sorted) {
		var placed bool
		if n, placed = skipBelowFetch(n, skip, covered); placed {
			limit, skip = max(0, limit-skip), 0
		}
	}
	if single && !limited {
		batchWithin(n, limit-skip)
	}
	if !single && q.skipsAfterMerge(n) {
		s.Shards = q.skipAfterMerge(s, n, covered, limited)
		return s
	}
	if s.Sorted && (!single && (q.Transform != nil || q.ReturnKey) || q.reads(expr.MetaSortKey)) {
		n = &SortKey{Input: n, Pattern: q.Pattern}
	}
	n = q.present(n, covered)
	if skip > 0 {
		n = &Skip{Input: n, N: skip}
	}
	if limit > 0 && !limited {
		n = &Limit{Input: n, N: limit - skip}
	}
	s.Shards = n
	return s
}

// batchFetches lets every fetch of a plan read ahead. It is called for a plan whose rows are all read: one
// without a limit, or with a sort above the fetch.
func batchFetches(n Node) {
	if f, ok := n.(*Fetch); ok {
		f.Batch = true
	}
	for _, in := range n.Inputs() {
		batchFetches(in)
	}
}

// inAnyOrder lets the fetch of a plan, if it is the last step, read its records in another order than that of its rows.
func inAnyOrder(n Node) {
	if f, ok := n.(*Fetch); ok {
		f.AnyOrder = true
	}
}

// batchWithin lets a fetch without a filter, whose rows come in order, read ahead as far as a limit.
func batchWithin(n Node, limit int64) {
	if f, ok := n.(*Fetch); ok && f.Filter == nil && limit > 1 {
		f.Batch, f.Rows = true, limit
	}
}

// present adds the nodes that give rows their final form: projection, returnKey and showRecordId.
func (q *Query) present(n Node, covered bool) Node {
	switch {
	case q.ReturnKey: // returnKey ignores the projection
		return &ReturnKey{Input: n}
	case q.Transform != nil:
		n = &Project{Input: n, Transform: q.Transform, Covered: covered, Simple: isSimple(q.Transform), Pattern: q.Pattern, Metas: q.metas}
	}
	if q.ShowRecordID {
		n = &RecordID{Input: n}
	}
	return n
}

// isSimple reports whether a projection only keeps or drops whole top-level fields.
func isSimple(t project.Transform) bool {
	b := bson.NewBuilder(nil)
	t.Append(b)
	for name, v := range b.Doc().Fields() {
		if strings.IndexByte(string(name), '.') >= 0 || v.Type != bson.TypeBool && !v.IsNumber() {
			return false
		}
	}
	return true
}
