package match

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// TestableOnKeys reports whether n can be evaluated on a document that is made from the key of an index entry, and
// calls add for each path that n reads. The key must hold the value at each of these paths, and no component of the
// paths may hold an array in any document of the index. Null and a missing value have one key, so the result is false
// for a condition that distinguishes them, such as $exists.
func TestableOnKeys(n Node, add func(p string)) bool {
	switch n := n.(type) {
	case Always, *And, *Or, *Nor, *Not:
		for _, c := range n.Children() {
			if !TestableOnKeys(c, add) {
				return false
			}
		}
		return true
	case *Leaf:
		if n.whole || n.path.HasPosition() || !sameForNull(n.pred) {
			return false
		}
		add(n.path.String())
		return true
	}
	return false
}

// sameForNull reports whether the predicate has the same result for null and a missing value. It is false for
// geometries, which an index key holds as cells.
func sameForNull(p predicate) bool {
	switch p.(type) {
	case *geoPredicate, *nearPredicate:
		return false
	}
	if p.sameForEqual() {
		return true
	}
	env, s := mql.NewEnv(context.Background()), &expr.Scratch{}
	missing, err := p.holds(env, bson.Value{}, s)
	if err != nil {
		return false
	}
	null, err := p.holds(env, bson.Null, s)
	return err == nil && missing == null
}
