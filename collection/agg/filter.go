package agg

import (
	"github.com/cantledb/cantle/collection/match"
)

// checkMatch refuses the operators that a $match stage cannot have.
//
// Errors: BadValue for $where, 5626500 for $near.
func checkMatch(n match.Node) error { return nil }

// filterPaths reports the paths a filter looks at, "" when it may look at the
// whole document.
func filterPaths(n match.Node, add func(string)) {
	match.Walk(n, func(n match.Node) {
		switch n := n.(type) {
		case *match.And, *match.Or, *match.Nor, match.Always:
		case match.Pathed:
			add(n.Path().String())
		case *match.Not:
			filterPaths(n.Children()[0], add)
		case *match.Expr:
			n.Expression().Paths(add)
		default:
			add("")
		}
	})
}
