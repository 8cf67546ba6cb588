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

// finish adds sort, skip, limit and projection to an access. sorted says that
// its rows are in the query's order, covered that they were made from keys.
func (q *Query) finish(n Node, sorted bool, index string, covered bool) *Solution {
	s := &Solution{Index: index, Skip: q.Skip, Limit: q.Limit, Sorted: sorted && q.Pattern != nil}
	switch {
	case q.Pattern != nil:
		s.Pattern = q.Pattern
		if !sorted {
			keep := int64(0)
			if q.Limit > 0 {
				keep = q.Skip + q.Limit
			}
			n = &Sort{Input: n, Pattern: q.Pattern, Limit: keep}
		}
	case q.near != nil:
		s.Pattern = &nearOrder
	}
	if q.Limit > 0 && q.Skip+q.Limit > 0 {
		n = &Limit{Input: n, N: q.Skip + q.Limit}
	}
	if s.Sorted && (q.Coll.Map != nil && q.Coll.Map.Len() > 1 && (q.Transform != nil || q.ReturnKey) || q.reads(expr.MetaSortKey)) {
		n = &SortKey{Input: n, Pattern: q.Pattern}
	}
	switch {
	case q.ReturnKey: // the projection is ignored
		n = &ReturnKey{Input: n}
	case q.Transform != nil:
		n = &Project{Input: n, Transform: q.Transform, Covered: covered, Simple: isSimple(q.Transform), Pattern: q.Pattern, Metas: q.metas}
	}
	if q.ShowRecordID && !q.ReturnKey {
		n = &RecordID{Input: n}
	}
	s.Shards = n
	return s
}

// isSimple reports a projection that keeps or drops whole top-level fields.
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
