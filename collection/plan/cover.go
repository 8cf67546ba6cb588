package plan

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/project"
)

// covers reports that the answer can be given from index keys alone.
// Manual: core/query-optimization#covered-query.
func (q *Query) covers(ix *catalog.Index, cs []conjunct, a access) bool {
	if q.ShowRecordID || ix.Kind.Name == "wildcard" || ix.Text != nil || q.reads0() {
		return false
	}
	if q.counts() && q.Pattern == nil {
		// No value is needed, so it does not matter what the keys keep of it.
		return !slices.Contains(a.used, false) || allTrue(cs, a.used)
	}
	if !ix.IsOrdered() || ix.Multikey.Any() || ix.Collation != nil || ix.ID == 1 && !q.Coll.PhysicalID() || q.ReturnKey {
		return false
	}
	need, ok := q.needs()
	if !ok || !rebuildable(ix.Fields()) {
		return false
	}
	have := func(f string) bool { return slices.Contains(ix.Fields(), f) }
	for _, f := range need {
		if !have(f) {
			return false
		}
	}
	for i, c := range cs {
		if !a.used[i] && (c.path == "" || !have(c.path)) {
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

// allTrue reports that what the bounds do not answer is true of all documents.
func allTrue(cs []conjunct, used []bool) bool { return unused(cs, used) == nil }

// reads0 reports metadata that only whole documents have.
func (q *Query) reads0() bool { return q.text != nil || q.near != nil }

// needs lists the fields that the answer is made of; ok is false if it takes
// whole documents.
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

// neededBy lists the paths a projection reads; whole when it needs the whole
// document.
func neededBy(t project.Transform) (paths []string, whole bool) {
	t.Paths(func(p string) {
		whole = whole || p == ""
		paths = append(paths, p)
	})
	return paths, whole
}

// rebuildable reports that a document can be made of the fields of an index:
// none is a part of another or a position in an array, and those of one embedded
// document stand together.
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
		// A prefix that was left behind must not come again.
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
