package plan

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/project"
)

// covers reports whether the keys of an index contain all that the query reads, so that no document must be
// fetched.
// Manual: core/query-optimization#covered-query.
func (q *Query) covers(ix *catalog.Index, cs []conjunct, a access) bool {
	if q.ShowRecordID || ix.Text != nil || q.reads0() {
		return false
	}
	if q.counts() && q.Pattern == nil {
		// No value is needed, so it does not matter whether the keys keep the exact values.
		return !slices.Contains(a.used, false) || allTrue(cs, a.used)
	}
	if ix.Multikey.Any() || ix.Collation != nil || ix.ID == 1 && !q.Coll.PhysicalID() || q.ReturnKey {
		return false
	}
	fields, ok := a.valuePaths()
	if !ok || !rebuildable(fields) {
		return false
	}
	need, ok := q.needs()
	if !ok {
		return false
	}
	have := func(f string) bool { return slices.Contains(fields, f) }
	for _, f := range need {
		if !have(f) {
			return false
		}
	}
	for i, c := range cs {
		// What follows from another conjunct is not tested.
		if !a.used[i] && c.node != nil && !readsOnly(c, have) {
			return false
		}
	}
	if q.Pattern != nil {
		for _, part := range q.Pattern.Parts {
			if part.Meta != "" || !have(part.Path.String()) {
				return false
			}
		}
	}
	return true
}

// valuePaths returns the paths whose values the entries of the access hold; ok is false if they hold none that could be
// read. A wildcard index has the values of one path.
// Manual: core/indexes/index-types/index-wildcard/reference/restrictions (covered queries).
func (a *access) valuePaths() (paths []string, ok bool) {
	if a.index.Kind.Name == "wildcard" {
		one := len(a.bounds) == 2 && isOnePoint(a.bounds[0]) && !a.bounds[1].IsFull() && hasOneEntry(a.index, a.at)
		return []string{a.at}, one
	}
	return a.index.Fields(), a.index.IsOrdered()
}

// readsOnly reports whether a conjunct reads only paths for which have is true.
func readsOnly(c conjunct, have func(string) bool) bool {
	x, ok := c.node.(*match.Expr)
	if !ok {
		return c.path != "" && have(c.path)
	}
	only := true
	x.Expression().Paths(func(p string) { only = only && have(p) })
	return only
}

// allTrue reports whether the conjuncts that the bounds do not answer are true of all documents.
func allTrue(cs []conjunct, used []bool) bool { return unused(cs, used) == nil }

// reads0 reports whether the query has $text or $near. Their metadata can be computed from whole documents
// only.
func (q *Query) reads0() bool { return q.text != nil || q.near != nil }

// needs returns the fields that the query's result is made of; ok is false if the result needs whole documents.
func (q *Query) needs() (fields []string, ok bool) {
	if q.KeysOnly && q.Transform == nil {
		return q.NeedKeys, true
	}
	if q.Transform == nil {
		return nil, false
	}
	fields, whole := neededBy(q.Transform)
	return fields, !whole
}

// neededBy returns the paths that a projection reads; whole is set if it needs the whole document.
func neededBy(t project.Transform) (paths []string, whole bool) {
	t.Paths(func(p string) {
		whole = whole || p == ""
		paths = append(paths, p)
	})
	return paths, whole
}

// rebuildable reports whether a document can be made from the fields of an index: no field is a part of
// another or a position in an array, and fields of one embedded document are adjacent.
func rebuildable(fields []string) bool {
	for i, f := range fields {
		p, err := path.Compile(f)
		if err != nil || p.HasPosition() {
			return false
		}
		for _, g := range fields[:i] {
			o, _ := path.Compile(g)
			if p.Conflicts(o) {
				return false
			}
		}
		// After other fields, a prefix must not occur again.
		for n := 1; n < p.Len() && i > 0; n++ {
			prefix := p.Prefix(n).String() + "."
			if strings.HasPrefix(fields[i-1], prefix) {
				continue
			}
			for _, g := range fields[:i] {
				if strings.HasPrefix(g, prefix) {
					return false
				}
			}
		}
	}
	return true
}
