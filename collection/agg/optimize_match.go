package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/match"
)

// admitsAll reports whether a filter has no condition.
func admitsAll(n match.Node) bool {
	return n == match.Always(true) || bson.Raw(match.String(n)).IsEmpty()
}

// matchPasser is a stage in front of which the optimiser can move a following $match, or some of its
// conditions. A $match stays behind stages of other types.
type matchPasser interface {
	// passMatch returns stages that replace the stage and m; ok is false if m stays behind the stage.
	passMatch(m *matchStage) (with []Stage, ok bool)
}

// An origin maps a path in the output of a stage to the path in its input that has the same values; ok is false
// if there is none. The optimiser moves conditions of a $match by it.
type origin func(path.Path) (from path.Path, ok bool)

// conjuncts returns the conditions of a filter, split at its top-level $and, followed by rest.
func conjuncts(n match.Node, rest []match.Node) []match.Node {
	if and, ok := n.(*match.And); ok {
		list := and.Children()
		return append(append(make([]match.Node, 0, len(list)+len(rest)), list...), rest...)
	}
	return append([]match.Node{n}, rest...)
}

// reusable reports whether a filter may be evaluated in several places: whether it reads only fixed paths.
func reusable(n match.Node) bool {
	ok := true
	filterPaths(n, func(p string) { ok = ok && p != "" })
	return ok
}

// free returns the origin map of a stage that writes the fields a and b and leaves the others. A write below a
// top-level field may replace its whole value, so no path below that field has an origin.
func free(a, b fieldName) origin {
	return func(p path.Path) (path.Path, bool) {
		for _, f := range [...]fieldName{a, b} {
			if f != nil && p.First() == f[0] {
				return p, false
			}
		}
		return p, true
	}
}

// renamed replaces the first n names of p by one name.
func renamed(p path.Path, n int, name string) path.Path {
	if p.Len() == n {
		return path.Must(name)
	}
	return path.Must(name + "." + p.Suffix(n).String())
}

// pushParts moves the conditions of m whose paths have an origin in front of the stage a.
func pushParts(a Stage, m *matchStage, at origin) ([]Stage, bool) {
	return push(a, m, at, func(match.Node) bool { return true })
}

// pushWhole is pushParts for a stage that groups documents by values that compare equal: a condition
// must hold for all documents of a group or for none.
func pushWhole(a Stage, m *matchStage, at origin) ([]Stage, bool) {
	return push(a, m, at, match.EqualForEqualValues)
}

func push(a Stage, m *matchStage, at origin, may func(match.Node) bool) ([]Stage, bool) {
	var before, after []match.Node
	for _, c := range conjuncts(m.node, nil) {
		if moved, ok := movedTo(c, at); ok && may(c) {
			before = append(before, moved)
		} else {
			after = append(after, c)
		}
	}
	if len(before) == 0 {
		return nil, false
	}
	out := []Stage{&matchStage{node: match.AllOf(before...)}, a}
	if len(after) > 0 {
		out = append(out, &matchStage{node: match.AllOf(after...)})
	}
	return out, true
}

// movedTo returns the condition on the origins of its paths.
func movedTo(c match.Node, at origin) (match.Node, bool) {
	same, some := true, true
	filterPaths(c, func(p string) {
		compiled, err := path.Compile(p)
		if p == "" || err != nil {
			some = false
			return
		}
		from, ok := at(compiled)
		some = some && ok
		same = same && from.Equal(compiled)
	})
	if !some || same {
		return c, some
	}
	return match.Moved(c, at)
}
