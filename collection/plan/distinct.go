package plan

import (
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
)

// distinct plans a scan that reads one entry per value of a path and skips to the next value each time.
// Each index field before the path must be bounded to one value, and the bounds must answer the whole
// filter. It returns nil if the index does not fit, or if the query has a sort, skip or limit.
// Manual: reference/command/distinct#index-use.
func (q *Query) distinct(ix *catalog.Index, cs []conjunct) *Solution {
	at := slices.Index(ix.Fields(), q.Distinct)
	if at < 0 || !ix.IsOrdered() || ix.Multikey.Any() || ix.Collation != nil || q.Pattern != nil || q.Limit > 0 || q.Skip > 0 || !rebuildable(ix.Fields()) {
		return nil
	}
	if ix.ID == 1 { // every _id is distinct
		return nil
	}
	a, ok := q.indexAccess(ix, cs, "")
	if !ok || a.bounds.Empty() || unused(cs, a.used) != nil {
		return nil
	}
	for _, f := range a.bounds[:at] {
		if !isOnePoint(f) {
			return nil
		}
	}
	scan := q.indexScan(ix, a, false)
	scan.Distinct, scan.Rebuild, scan.Dedupe = at+1, true, false
	s := q.finish(scan, true, ix.Name, true)
	s.guess = 40
	s.Certain = true
	return s
}
