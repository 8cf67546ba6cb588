package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
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
		return pushParts(a, m, a.origin)
	case *unwindStage:
		return pushParts(a, m, a.origin)
	case *groupStage:
		return pushWhole(a, m, a.origin)
	case *windowStage:
		return pushWhole(a, m, a.origin)
	case *lookupStage:
		if a.unwind != nil {
			if with, ok := a.takeMatch(m); ok {
				return with, true
			}
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

// An origin tells where the input of a stage has the values that its output has
// at a path; ok is false if it has them nowhere.
type origin func(path.Path) (from path.Path, ok bool)

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

// free is the origin of paths behind a stage that writes two. A write below a
// field may replace what the field was, so that its neighbours go too.
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

// origin of a path that does not lead to the array or into it.
func (s *unwindStage) origin(p path.Path) (path.Path, bool) {
	if p.Conflicts(path.Must(s.path.String())) {
		return p, false
	}
	return free(s.index, nil)(p)
}

// renamed is p with its first n names replaced by one.
func renamed(p path.Path, n int, name string) path.Path {
	if p.Len() == n {
		return path.Must(name)
	}
	return path.Must(name + "." + p.Suffix(n).String())
}

// origin of a field that is kept or copied.
func (s *transformStage) origin(p path.Path) (path.Path, bool) {
	if s.t.Keeps(p) {
		return p, true
	}
	from, ok := s.t.Copies(p.First())
	if !ok {
		return p, false
	}
	return renamed(p, 1, from), true
}

// origin of a path in the _id, where that is a field or has the field.
func (s *groupStage) origin(p path.Path) (path.Path, bool) {
	if s.mode == groupMerge || p.First() != "_id" {
		return p, false
	}
	if from, ok := expr.FieldPath(s.id); ok && !strings.Contains(from, ".") {
		return renamed(p, 1, from), true
	}
	if p.Len() < 2 {
		return p, false
	}
	e, ok := expr.ObjectField(s.id, p.Name(1))
	if !ok {
		return p, false
	}
	from, ok := expr.FieldPath(e)
	return renamed(p, 2, from), ok && !strings.Contains(from, ".")
}

// origin of a path that the documents are partitioned by.
func (s *windowStage) origin(p path.Path) (path.Path, bool) {
	if s.partition == nil {
		return p, false
	}
	for _, o := range s.out {
		if p.First() == o.field[0] {
			return p, false
		}
	}
	from, ok := expr.FieldPath(s.partition)
	return p, ok && p.Len() == 1 && p.String() == from
}

// pushParts moves the conditions whose paths have an origin in front of a.
func pushParts(a Stage, m *matchStage, at origin) ([]Stage, bool) {
	return push(a, m, at, func(match.Node) bool { return true })
}

// pushWhole is pushParts for a stage that puts documents together by values that
// compare equal: a condition must hold for all of them or none.
func pushWhole(a Stage, m *matchStage, at origin) ([]Stage, bool) {
	return push(a, m, at, match.SaysTheSame)
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
	out := []Stage{&matchStage{match.AllOf(before...)}, a}
	if len(after) > 0 {
		out = append(out, &matchStage{match.AllOf(after...)})
	}
	return out, true
}

// movedTo is the condition at the origin of its paths.
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

// takeMatch puts the conditions on the joined documents into a $lookup that
// unwinds them: those that do not satisfy them are not joined.
func (s *lookupStage) takeMatch(m *matchStage) ([]Stage, bool) {
	if s.unwind.preserve || s.unwind.index != nil || len(s.as) > 1 {
		return nil, false
	}
	as := path.Must(s.as.String())
	var inside, after []match.Node
	for _, c := range conjuncts(m.node, nil) {
		moved, ok := match.Moved(c, func(p path.Path) (path.Path, bool) {
			if p.Len() <= as.Len() || !p.HasPrefix(as) {
				return p, false
			}
			return p.Suffix(as.Len()), true
		})
		if ok {
			inside = append(inside, moved)
		} else {
			after = append(after, c)
		}
	}
	if len(inside) == 0 {
		return nil, false
	}
	with := *s
	if s.joined != nil {
		inside = append(inside, s.joined)
	}
	with.joined = match.AllOf(inside...)
	out := []Stage{&with}
	if len(after) > 0 {
		out = append(out, &matchStage{match.AllOf(after...)})
	}
	return out, true
}
