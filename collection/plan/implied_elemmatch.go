package plan

import (
	"slices"

	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// element is the array element to which a predicate within an $elemMatch refers.
type element struct {
	of    *match.ElemMatch
	depth int // number of components of the path of the array, from the document on
}

// impliedByElemMatch adds the predicates within an $elemMatch on documents. For a predicate on b in an $elemMatch on
// the path a, one element of the array has a key within the predicate's bounds, in an index on a.b: an index has the
// same keys of an element as of a whole document, and an element that is an array has the key of an empty document,
// which is also how the $elemMatch reads it. Paths with positions are left out: for them, an element that is an
// array has other values.
// Manual: core/indexes/index-types/index-multikey/multikey-index-bounds.
func impliedByElemMatch(_ *mql.Env, n match.Node, add func(conjunct)) {
	if e, ok := n.(*match.ElemMatch); ok && !e.Path().HasPosition() {
		addWithin(e, "", nil, add)
	}
}

// addWithin adds the predicates of an $elemMatch e. prefix is the path before that of e, with a dot at its end; around
// are the $elemMatch around e.
func addWithin(e *match.ElemMatch, prefix string, around []element, add func(conjunct)) {
	prefix += e.Path().String() + "."
	depth := e.Path().Len()
	if len(around) > 0 {
		depth += around[len(around)-1].depth
	}
	elements := append(slices.Clip(around), element{e, depth})
	parts := []match.Node{e.Sub()}
	if and, ok := e.Sub().(*match.And); ok {
		parts = and.Children()
	}
	for _, p := range parts {
		pathed, ok := p.(match.Pathed)
		if !ok {
			continue
		}
		at, err := path.Compile(prefix + pathed.Path().String())
		if err != nil || at.HasPosition() {
			continue
		}
		var c conjunct
		c.take(p, nil)
		if restricts(c.intervals) {
			add(conjunct{path: at.String(), intervals: c.intervals, elements: elements})
		}
		if inner, ok := p.(*match.ElemMatch); ok {
			addWithin(inner, prefix, elements, add)
		}
	}
}

// sharedDepth returns the number of leading components of the paths of two conjuncts at which both refer to the same
// array element, because the same $elemMatch is around both; 0 if there is none.
func sharedDepth(a, b conjunct) (depth int) {
	for i := range min(len(a.elements), len(b.elements)) {
		if a.elements[i].of != b.elements[i].of {
			break
		}
		depth = a.elements[i].depth
	}
	return depth
}

// combines reports whether the conjunct k may bound field i of an index together with the conjuncts used for the
// fields before it: no two of them may hold for different elements of one array.
func combines(ix *catalog.Index, i int, cs []conjunct, k int, before [][]int) bool {
	for j, used := range before {
		for _, u := range used {
			if ix.Multikey.SharesArray(i, j, sharedDepth(cs[k], cs[u])) {
				return false
			}
		}
	}
	return true
}

// ofSameElement returns the narrowest of the conjuncts that can bound a multikey field i, and those of the others that
// hold for the same element.
func ofSameElement(ix *catalog.Index, i int, cs []conjunct, list []int, narrowest int) []int {
	out := []int{narrowest}
	for _, k := range list {
		apart := func(u int) bool { return ix.Multikey.SharesArray(i, i, sharedDepth(cs[k], cs[u])) }
		if k != narrowest && !slices.ContainsFunc(out, apart) {
			out = append(out, k)
		}
	}
	return out
}
