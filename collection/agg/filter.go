package agg

import (
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// checkMatch rejects a filter with operators that are not allowed in a $match stage.
//
// Errors: BadValue for $where, 5626500 for $near.
func checkMatch(n match.Node) error {
	switch f := match.Features(n); {
	case f&match.UsesNear != 0:
		return mongoerr.New(5626500, "$geoNear, $near, and $nearSphere are not allowed in this context, as these operators require sorting geospatial data. If you do not need sort, consider using $geoWithin instead.")
	case f&match.UsesWhere != 0:
		return mongoerr.New(mongoerr.BadValue, "$where is not allowed in this context")
	}
	return nil
}

// filterPaths calls add with the paths that a filter reads, and with "" if it may read the whole document.
func filterPaths(n match.Node, add func(string)) {
	match.Walk(n, func(n match.Node) {
		switch n := n.(type) {
		case *match.And, *match.Or, *match.Nor, match.Always:
		case match.Pathed:
			add(n.Path().String())
		case *match.Expr:
			n.Expression().Paths(add)
		default:
			add("")
		}
	})
}
