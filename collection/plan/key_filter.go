package plan

import (
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
)

// filterKeys divides the conjuncts that the bounds of an index scan do not answer: the scan evaluates on its keys those
// that read only fields of the index, so that documents that they exclude are not fetched. It returns the rest, which
// is evaluated on fetched documents, nil if none is left.
// Manual: reference/explain-results (filter of IXSCAN).
func (q *Query) filterKeys(scan *IndexScan, cs []conjunct, used []bool) (rest match.Node) {
	f := keyFilter{index: scan.Index, tested: make([]bool, len(scan.Index.Fields()))}
	if !f.holdsValues() {
		return unused(cs, used)
	}
	used = slices.Clone(used)
	for k, c := range cs {
		used[k] = used[k] || c.node == nil
	}
	var onKeys []match.Node
	take := func(k int) {
		used[k] = true
		onKeys = append(onKeys, cs[k].node)
	}
	for k, c := range cs {
		if !used[k] && !c.outer && f.admits(func(add func(string)) bool { return match.TestableOnKeys(c.node, add) }) {
			take(k)
		}
	}
	// An expression may fail for a document that another conjunct excludes, so no other conjunct may come after it.
	if !leavesOthers(cs, used) {
		for k, c := range cs {
			x, ok := c.node.(*match.Expr)
			if ok && !used[k] && !c.outer && f.admits(func(add func(string)) bool { x.Expression().Paths(add); return true }) {
				scan.NullsDiffer = true
				take(k)
			}
		}
	}
	onKeys = slices.DeleteFunc(onKeys, func(n match.Node) bool { return n == match.Node(match.Always(true)) })
	if len(onKeys) > 0 {
		scan.Filter = match.AllOf(onKeys...)
		scan.Tested, scan.Computed = f.tested, isComputed(scan.Filter)
	}
	return unused(cs, used)
}

// leavesOthers reports whether a conjunct that is not an expression is still to be evaluated.
func leavesOthers(cs []conjunct, used []bool) bool {
	for k, c := range cs {
		if _, ok := c.node.(*match.Expr); !ok && !used[k] {
			return true
		}
	}
	return false
}

// keyFilter collects the fields of an index that a filter on its keys reads.
type keyFilter struct {
	index  *catalog.Index
	tested []bool
}

// holdsValues reports whether the entries of the index hold values from which a document can be made. The keys of a
// collation do not hold the strings.
func (f *keyFilter) holdsValues() bool {
	return f.index.Collation == nil && (f.index.IsOrdered() || f.index.Kind.Name == "hashed")
}

// admits adds the fields that a predicate reads. It reports false, and adds none, if reads reports false, or if the
// keys do not hold the value of one of its paths: a path without a field, a hashed field, a field with arrays, or a path
// with a position.
func (f *keyFilter) admits(reads func(add func(p string)) bool) bool {
	tested, ok := slices.Clone(f.tested), true
	known := reads(func(p string) {
		i := slices.Index(f.index.Fields(), p)
		if i < 0 || f.index.Multikey.Field(i) || f.index.Parts[i].Plugin != "" {
			ok = false
			return
		}
		tested[i] = true
	})
	if !known || !ok {
		return false
	}
	var fields []string
	for i, t := range tested {
		if t {
			fields = append(fields, f.index.Fields()[i])
		}
	}
	if !rebuildable(fields) {
		return false
	}
	f.tested = tested
	return true
}
