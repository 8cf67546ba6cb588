package plan

import (
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// implication is a rule by which a predicate of the filter implies conditions on paths that it does not bound itself.
// The conditions only bound indexes: the predicate is still tested on documents.
type implication struct {
	name string
	// of calls add for each condition that follows from the predicate n. env has the values of the variables of n; nil if
	// they are not known.
	of func(env *mql.Env, n match.Node, add func(conjunct))
}

// implications are the rules from predicates to bounds, one file for each.
var implications = [...]implication{
	{"$elemMatch", impliedByElemMatch},
	{"$expr", impliedByExpr},
	{"$jsonSchema", impliedBySchema},
}
