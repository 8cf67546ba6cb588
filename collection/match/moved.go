package match

import "github.com/cantledb/cantle/bson/path"

// Moved returns the filter n with its conditions on other paths: for each path, to returns the path at which the
// same values are found, or false. ok is false if to returned false, or for an operator whose path cannot change,
// such as $expr.
func Moved(n Node, to func(path.Path) (path.Path, bool)) (moved Node, ok bool) {
	switch n := n.(type) {
	case Always:
		return n, true
	case *And:
		list, ok := movedAll(n.list, to)
		return newAnd(list), ok
	case *Or:
		list, ok := movedAll(n.list, to)
		return &Or{list}, ok
	case *Nor:
		list, ok := movedAll(n.list, to)
		return &Nor{list}, ok
	case *Not:
		child, ok := Moved(n.child, to)
		at, ok2 := to(n.path)
		return &Not{at, child}, ok && ok2
	case *Leaf:
		return n.moved(to)
	}
	return nil, false
}

func movedAll(list []Node, to func(path.Path) (path.Path, bool)) ([]Node, bool) {
	out := make([]Node, len(list))
	for i, n := range list {
		var ok bool
		if out[i], ok = Moved(n, to); !ok {
			return nil, false
		}
	}
	return out, true
}

func (l *Leaf) moved(to func(path.Path) (path.Path, bool)) (Node, bool) {
	at, ok := to(l.path)
	if !ok {
		return nil, false
	}
	return &Leaf{path: at, parts: at.Components(), pred: l.pred, whole: l.whole, through: l.through}, true
}

// EqualForEqualValues reports whether n has the same result for values that compare equal, and for null and a
// missing value. Then, if one document of a group of such documents satisfies n, all do.
func EqualForEqualValues(n Node) bool {
	same := true
	Walk(n, func(n Node) {
		switch n := n.(type) {
		case Always, *And, *Or, *Nor, *Not:
		case *Leaf:
			same = same && n.pred.sameForEqual()
		default:
			same = false
		}
	})
	return same
}
