package plan

import (
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// impliedByExpr adds the comparisons of fields with known values in an $expr. They bound only indexes without arrays on
// the path, because an expression compares an array as one value, of which an index has no key.
// Manual: reference/operator/query/expr#behavior (index use).
func impliedByExpr(env *mql.Env, n match.Node, add func(conjunct)) {
	e, ok := n.(*match.Expr)
	if !ok {
		return
	}
	for _, i := range e.Implied(env) {
		if restricts(i.Intervals) {
			add(conjunct{path: i.Path.String(), intervals: i.Intervals, scalar: true})
		}
	}
}
