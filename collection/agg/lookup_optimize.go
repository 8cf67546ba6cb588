package agg

import (
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/match"
)

// Rules by which $lookup absorbs or passes the following stages.

// absorb merges a following $unwind of the joined documents into the $lookup, so that no array of them is
// built. A following $sort by other fields moves in front of it: it sorts smaller documents, perhaps by an index, and
// with a $limit it leaves fewer to join.
func (s *lookupStage) absorb(rest []Stage) ([]Stage, int) {
	if sort, ok := rest[0].(*sortStage); ok && s.unwind == nil && !sort.pattern.HasMeta() && sortsWithout(sort, s.as) {
		return []Stage{sort, s}, 1
	}
	u, ok := rest[0].(*unwindStage)
	if !ok || s.unwind != nil || u.path.String() != s.as.String() {
		return nil, 0
	}
	both := *s
	both.unwind = u
	return []Stage{&both}, 1
}

// sortsWithout reports whether a $sort reads no field at, above or below f.
func sortsWithout(s *sortStage, f fieldName) bool {
	at, apart := free(f, nil), true
	s.pattern.Paths(func(p path.Path) {
		_, ok := at(p)
		apart = apart && ok
	})
	return apart
}

// passMatch moves conditions of a following $match on the joined documents into the $lookup, and conditions on
// other fields in front of it.
func (s *lookupStage) passMatch(m *matchStage) ([]Stage, bool) {
	if s.unwind == nil {
		return pushParts(s, m, free(s.as, nil))
	}
	if with, ok := s.takeMatch(m); ok {
		return with, true
	}
	return pushParts(s, m, free(s.as, s.unwind.index))
}

// takeMatch moves conditions of a following $match on the joined documents into a $lookup with $unwind:
// documents that do not satisfy them are not joined.
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
		out = append(out, &matchStage{node: match.AllOf(after...)})
	}
	return out, true
}
