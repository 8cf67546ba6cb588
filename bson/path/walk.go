package path

import (
	"sync"

	"github.com/cantledb/cantle/bson"
)

// Arrays is the rule of a walk for arrays.
type Arrays uint8

const (
	// Traverse is the rule of query predicates. The walk looks into an array on the path: it continues
	// with the next component in each document of the array, but not in scalars and arrays directly
	// inside it. A component like "0" also means that position. The leaf is yielded unchanged. Missing
	// values:
	//
	//   - a document without the next component yields missing, also one inside
	//     an array ({"a.b": null} matches {a: [{b: 1}, {}]});
	//   - a scalar or null that is not inside an array yields missing
	//     ({"a.b": null} matches {a: 5});
	//   - an array without documents to continue in yields nothing ({"a.b": null} matches neither
	//     {a: []} nor {a: [1]}; {"a.b": {$exists: false}} matches both, because no value exists).
	//
	// Manual: tutorial/query-array-of-documents, tutorial/query-for-null-fields.
	Traverse Arrays = iota
	// Stop is the rule of aggregation field paths: the walk continues in each document of an array, skips
	// other elements and missing values, and treats digits as plain names. The leaf is yielded unchanged.
	// Lookup builds the value of such a path. Manual: core/field-paths.
	Stop
	// LeafOnly is the rule of index and sort keys: every array on the path is expanded, a leaf array
	// yields its elements, an empty leaf array yields undefined and every missing value yields null. A
	// component that is a position in the current array selects only that element, which is not
	// expanded if it is an array itself.
	// Manual: core/indexes/index-types/index-multikey.
	LeafOnly
	// TraverseLeaf is Traverse, except that a leaf which is an array is expanded: its elements are yielded first,
	// with their index as the last one of the trail, and then the array itself, without an index. A leaf selected by
	// position ("a.0" of {a: [[1, 2]]}) is directly inside an array and is not expanded.
	TraverseLeaf
)

// Walk calls yield with each value that the path has in doc under the rule a, in document order, until yield returns
// false. It reports whether it has finished. The value aliases doc; it is missing if the rule requires it. trail
// holds the array indices on the path, outermost first, and is valid only during the call.
//
// Walk does not allocate, and yield does not escape.
func (p Path) Walk(doc bson.Raw, a Arrays, yield func(v bson.Value, trail []int32) bool) bool {
	if len(p.parts) == 0 {
		return yield(doc.Value(), nil)
	}
	// Up to the first array, the path needs no trail and no recursion.
	last := len(p.parts) - 1
	for i := 0; ; i++ {
		v, _ := doc.Lookup(p.parts[i].Name)
		switch {
		case v.Type == bson.TypeArray && (i < last || a >= LeafOnly):
			t := trails.Get().(*trail)
			t.depth = 0
			ok := p.array(bson.Raw(v.Data), i+1, a, t, yield)
			if ok && i == last && a == TraverseLeaf {
				ok = yield(v, nil)
			}
			trails.Put(t)
			return ok
		case i == last:
			return yieldLeaf(v, a, nil, yield)
		case v.Type == bson.TypeDocument:
			doc = bson.Raw(v.Data)
		default:
			return yieldLeaf(bson.Value{}, a, nil, yield)
		}
	}
}

// trail holds the array indices on the path during a walk. Trails are pooled, because a trail passed to yield would
// otherwise be allocated for each walk.
type trail struct {
	depth int
	index [bson.MaxDepth + 56]int32
}

var trails = sync.Pool{New: func() any { return new(trail) }}

func (t *trail) slice() []int32 { return t.index[:t.depth] }

// yieldLeaf yields a leaf that is not expanded.
func yieldLeaf(v bson.Value, a Arrays, trail []int32, yield func(bson.Value, []int32) bool) bool {
	if v.Type == bson.TypeMissing {
		switch a {
		case Stop:
			return true
		case LeafOnly:
			v = bson.Null
		}
	}
	return yield(v, trail)
}

// document continues with component i in a document.
func (p *Path) document(doc bson.Raw, i int, a Arrays, t *trail, yield func(bson.Value, []int32) bool) bool {
	v, _ := doc.Lookup(p.parts[i].Name)
	return p.value(v, i+1, a, t, yield)
}

// value walks the rest of the path, from component i on, in a value that was reached by name.
func (p *Path) value(v bson.Value, i int, a Arrays, t *trail, yield func(bson.Value, []int32) bool) bool {
	switch {
	case v.Type == bson.TypeArray && (i < len(p.parts) || a >= LeafOnly):
		if !p.array(bson.Raw(v.Data), i, a, t, yield) {
			return false
		}
		if i == len(p.parts) && a == TraverseLeaf {
			return yield(v, t.slice())
		}
		return true
	case i == len(p.parts):
		return yieldLeaf(v, a, t.slice(), yield)
	case v.Type == bson.TypeDocument:
		return p.document(bson.Raw(v.Data), i, a, t, yield)
	}
	return yieldLeaf(bson.Value{}, a, t.slice(), yield)
}

// array walks the rest of the path, from component i on, in the elements of an array, or yields the elements if
// there is no further component.
func (p *Path) array(arr bson.Raw, i int, a Arrays, t *trail, yield func(bson.Value, []int32) bool) bool {
	if t.depth == len(t.index) {
		return true
	}
	if a == LeafOnly {
		return p.keyArray(arr, i, t, yield)
	}
	position := int32(-1)
	if i < len(p.parts) && a != Stop {
		position = p.parts[i].Index
	}
	t.depth++
	n := int32(0)
	for it := arr.Iter(); it.Next(); n++ {
		t.index[t.depth-1] = n
		if i == len(p.parts) {
			if !yield(it.Value, t.slice()) {
				return false
			}
			continue
		}
		if it.Value.Type == bson.TypeDocument && !p.document(bson.Raw(it.Value.Data), i, a, t, yield) {
			return false
		}
		if n == position && !p.at(it.Value, i+1, a, t, yield) {
			return false
		}
	}
	t.depth--
	return true
}

// at continues with component i in an element selected by position.
func (p *Path) at(v bson.Value, i int, a Arrays, t *trail, yield func(bson.Value, []int32) bool) bool {
	switch {
	case i == len(p.parts):
		return yield(v, t.slice()) // an array directly inside an array is not expanded
	case v.Type == bson.TypeDocument || v.Type == bson.TypeArray:
		return p.value(v, i, a, t, yield)
	case a == LeafOnly:
		return yield(bson.Null, t.slice())
	}
	return true // a scalar inside an array does not count as missing
}

// keyArray is array for index keys.
func (p *Path) keyArray(arr bson.Raw, i int, t *trail, yield func(bson.Value, []int32) bool) bool {
	leaf := i == len(p.parts)
	if arr.IsEmpty() {
		if leaf {
			return yield(bson.Value{Type: bson.TypeUndefined}, t.slice())
		}
		return yield(bson.Null, t.slice())
	}
	t.depth++
	if v, ok := p.Element(arr, i); ok {
		t.index[t.depth-1] = p.parts[i].Index
		ok = p.at(v, i+1, LeafOnly, t, yield)
		t.depth--
		return ok
	}
	n := int32(0)
	for it := arr.Iter(); it.Next(); n++ {
		t.index[t.depth-1] = n
		v := it.Value
		switch {
		case leaf:
		case v.Type == bson.TypeDocument:
			if !p.document(bson.Raw(v.Data), i, LeafOnly, t, yield) {
				return false
			}
			continue
		default:
			v = bson.Null
		}
		if !yield(v, t.slice()) {
			return false
		}
	}
	t.depth--
	return true
}
