package plan

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
)

// A wildcard index is planned as if it were one index per path that the filter
// mentions. It has no entries of missing values and of documents that have
// fields, so that bounds which hold those cannot use it.
// Manual: core/indexes/index-types/index-wildcard/reference/restrictions.

// isWildcard reports the name of a wildcard field in a key pattern.
func isWildcard(name string) bool { return name == "$**" || strings.HasSuffix(name, ".$**") }

// wildcardPaths are the paths in the filter that a wildcard index can look up.
func (q *Query) wildcardPaths(ix *catalog.Index, cs []conjunct) (paths []string) {
	for _, c := range cs {
		if c.path == "" || slices.Contains(paths, c.path) {
			continue
		}
		p, err := path.Compile(c.path)
		if err != nil || p.HasPosition() {
			continue
		}
		if value, below := ix.WildcardCovers(p); !value || !below && exists(c) {
			continue
		}
		if q.wildcardField(ix, -1, c.path, cs).bounds {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// wildcardField bounds the path or the value of a wildcard. i is the keystring,
// -1 just to ask whether there is a bound.
func (q *Query) wildcardField(ix *catalog.Index, i int, at string, cs []conjunct) bounding {
	if at == "" {
		return bounding{}
	}
	ivs, there := []match.Interval(nil), false
	var used []int
	for k, c := range cs {
		there = there || c.path == at && exists(c)
		if c.path != at || !c.useful || !collationFits(q, ix, c.intervals) || !hasEntries(c.intervals) {
			continue
		}
		if ivs == nil || narrower(c.intervals, ivs) {
			ivs, used = c.intervals, []int{k}
		}
	}
	switch {
	case i < 0:
		return bounding{bounds: ivs != nil || there}
	case ix.Fields()[i] == index.WildcardPath:
		return bounding{FieldBounds: encodeField(pathIntervals(at, ivs == nil), ix.Dirs()[i], nil), bounds: true, nonNull: true}
	case ivs == nil:
		return bounding{}
	}
	return bounding{FieldBounds: encodeField(ivs, ix.Dirs()[i], ix.Collation.Order()), bounds: true, used: used, nonNull: true}
}

// pathIntervals are the entries of a path, and of every path below it: one of
// them is there if the path exists.
func pathIntervals(at string, below bool) []match.Interval {
	var a bson.Arena
	v := a.String(at)
	ivs := []match.Interval{{Lo: v, Hi: v, LoInclusive: true, HiInclusive: true}}
	if below {
		ivs = append(ivs, match.Interval{Lo: a.String(at + "."), Hi: a.String(at + "/"), LoInclusive: true})
	}
	return ivs
}

// exists reports a predicate that asks for nothing but existence.
func exists(c conjunct) bool {
	l, ok := c.node.(*match.Leaf)
	return ok && l.Operator() == "$exists"
}

// hasEntries reports that every value within the intervals has an entry in a
// wildcard index.
func hasEntries(ivs []match.Interval) bool {
	if len(ivs) == 0 || holdsNull(ivs) {
		return false
	}
	for _, iv := range ivs {
		if iv.IsPoint() && bson.Compare(iv.Lo, bson.EmptyDoc, nil) == 0 {
			continue
		}
		above := bson.Compare(iv.Hi, bson.EmptyDoc, nil)
		if bson.Compare(iv.Lo, bson.EmptyArray, nil) < 0 && (above > 0 || above == 0 && iv.HiInclusive) {
			return false
		}
	}
	return true
}
