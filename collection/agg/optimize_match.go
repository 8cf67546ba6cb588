package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/match"
)

// admitsAll says that a filter has no condition.
func admitsAll(n match.Node) bool {
	return n == match.Always(true) || bson.Raw(match.String(n)).IsEmpty()
}

// pushMatch moves a $match, or the conditions of it that can be moved, in front
// of stage a.
func pushMatch(a Stage, m *matchStage) ([]Stage, bool) {
	switch a := a.(type) {
	case *matchStage:
		return []Stage{&matchStage{match.AllOf(conjuncts(a.node, conjuncts(m.node, nil))...)}}, true
	case *sortStage:
		if a.limit == 0 {
			return []Stage{m, a}, true
		}
	case *transformStage:
		return pushParts(a, m, a.t.Keeps)
	case *unwindStage:
		return pushParts(a, m, free(a.path, a.index))
	case *lookupStage:
		if a.unwind != nil {
			return pushParts(a, m, free(a.as, a.unwind.index))
		}
		return pushParts(a, m, free(a.as, nil))
	case *graphStage:
		return pushParts(a, m, free(a.as, nil))
	case *unionStage:
		if !reusable(m.node) {
			return nil, false
		}
		both := *a
		both.sub = a.sub.with(append(append([]Stage(nil), a.sub.stages...), m))
		return []Stage{m, &both}, true
	}
	return nil, false
}

// conjuncts puts the conditions of a filter that all must hold in front of rest.
func conjuncts(n match.Node, rest []match.Node) []match.Node {
	if and, ok := n.(*match.And); ok {
		list := and.Children()
		return append(append(make([]match.Node, 0, len(list)+len(rest)), list...), rest...)
	}
	return append([]match.Node{n}, rest...)
}

// reusable says that a filter may be asked in several places.
func reusable(n match.Node) bool {
	ok := true
	filterPaths(n, func(p string) { ok = ok && p != "" })
	return ok
}

// free makes the test whether a path is untouched by two written ones.
func free(a, b fieldName) func(path.Path) bool {
	return func(p path.Path) bool {
		for _, f := range [...]fieldName{a, b} {
			if f != nil && p.Conflicts(path.Must(f.String())) {
				return false
			}
		}
		return true
	}
}

// pushParts moves the conditions whose paths are kept in front of a.
func pushParts(a Stage, m *matchStage, keeps func(path.Path) bool) ([]Stage, bool) {
	var before, after []match.Node
	for _, c := range conjuncts(m.node, nil) {
		ok := true
		filterPaths(c, func(p string) {
			if p == "" {
				ok = false
				return
			}
			compiled, err := path.Compile(p)
			ok = ok && err == nil && keeps(compiled)
		})
		if ok {
			before = append(before, c)
		} else {
			after = append(after, c)
		}
	}
	if len(before) == 0 {
		return nil, false
	}
	out := []Stage{&matchStage{match.AllOf(before...)}, a}
	if len(after) > 0 {
		out = append(out, &matchStage{match.AllOf(after...)})
	}
	return out, true
}
