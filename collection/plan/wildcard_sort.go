package plan

import (
	"github.com/cantledb/cantle/collection/index"
)

// sortedByWildcard reports whether a scan of a wildcard index with the bounds of the access delivers rows in the
// query's sort order, and whether it must then read the index in reverse. The only sort field must be the path whose
// values the access bounds, so that no match lacks an entry, and no document may have arrays on the paths of the index.
// Manual: core/indexes/index-types/index-wildcard/reference/restrictions (sort operations).
func (q *Query) sortedByWildcard(a access) (sorted, reverse bool) {
	fields := a.index.Fields()
	if len(fields) != 2 || fields[0] != index.WildcardPath || a.index.Multikey.Any() || a.bounds[1].IsFull() || len(q.Pattern.Parts) != 1 {
		return false, false
	}
	part := &q.Pattern.Parts[0]
	if part.Meta != "" || !isOnePoint(a.bounds[0]) {
		return false, false
	}
	if at, ok := a.bounds[0].values[0].Lo.Str(); !ok || at != part.Path.String() {
		return false, false
	}
	return true, part.Dir != a.index.Dirs()[1]
}
