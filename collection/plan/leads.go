package plan

import (
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
)

// leadsMax limits the accesses of one index that otherLeads returns.
const leadsMax = 7

// otherLeads returns the accesses of an index in which a field with arrays is bounded by another condition than in the
// access a. Each condition on an array may be true of another element, so one of them bounds the field, and only the
// data show which one has the fewest matches: {tags: {$all: ["a", "b"]}}. A trial compares them. Only the first such
// field of the index has alternatives.
// Manual: core/indexes/index-types/index-multikey/multikey-index-bounds#intersect-bounds-for-multikey-index.
func (q *Query) otherLeads(ix *catalog.Index, cs []conjunct, a access, at string) (out []access) {
	if !ix.Multikey.Any() || a.key != nil {
		return nil
	}
	for i, name := range ix.Fields() {
		if !ix.Multikey.Field(i) {
			continue
		}
		var list []int
		switch {
		case isWildcard(name):
			list = q.wildcardConjuncts(ix, cs, at)
		case ix.IsOrdered():
			for k, c := range cs {
				if c.bounds(q, ix, i) {
					list = append(list, k)
				}
			}
		}
		covered := slices.Clone(a.by) // by this access or another
		for _, k := range list {
			if slices.Contains(covered, k) || len(out) == leadsMax {
				continue
			}
			other, ok := q.indexAccess(ix, cs, approach{at: at, lead: k + 1})
			if ok && other.lead > 0 {
				covered = append(covered, other.by...)
				out = append(out, other)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}
