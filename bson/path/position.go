package path

import "github.com/cantledb/cantle/bson"

// Rules for numbers in paths. "a.0" is the field "0" of a document at "a"; if there is an array at "a",
// it is also the first element of the array. The first component is a field, as a document is no array;
// "00" and "+1" are fields only.
//
//   - A query uses both: in an array the field of each document, and the element at the position, also
//     if the element is an array. The local field of a join and distinct use both, too.
//   - An element selected by position at the end of a path is one value, even if it is an array:
//     {"a.0": 1} does not match {a: [[1]]}. An array in a field at the end is expanded.
//   - The keys of indexes and sorts contain the element at the position if there is one, and the fields
//     of documents otherwise. An index rejects an array that has both for one path. An array selected by
//     position at the end of the path is a single key.
//   - The paths in the keys of a wildcard index have no positions, and an array directly in an array is a
//     single key: values that a query finds inside it have no key of their own.
//   - Expressions, projections and shard keys have fields only.
//   - An update has fields in documents and positions in arrays.
//
// Manual: core/document (dot notation), core/indexes/index-types/index-multikey,
// core/indexes/index-types/index-wildcard/reference/restrictions.

// Position returns the array index that name denotes in canonical decimal form, or -1.
func Position(name string) int32 {
	if name == "" || len(name) > 9 || name[0] == '0' && len(name) > 1 {
		return -1
	}
	n := int32(0)
	for i := 0; i < len(name); i++ {
		c := name[i] - '0'
		if c > 9 {
			return -1
		}
		n = n*10 + int32(c)
	}
	return n
}

// FirstPosition returns the number of the first component that can be an array position; Len if there is none.
func (p Path) FirstPosition() int {
	for i := 1; i < len(p.parts); i++ {
		if p.parts[i].Index >= 0 {
			return i
		}
	}
	return len(p.parts)
}

// HasPosition reports whether a component can be an array position.
func (p Path) HasPosition() bool { return p.FirstPosition() < len(p.parts) }

// EndsAtPosition reports whether the last component can be an array position: the value may then be an element,
// which walks do not expand if it is an array.
func (p Path) EndsAtPosition() bool {
	return len(p.parts) > 1 && p.parts[len(p.parts)-1].Index >= 0
}

// Element returns the element that component i of the path selects by its position in arr, the array at p.Prefix(i).
func (p Path) Element(arr bson.Raw, i int) (v bson.Value, ok bool) {
	if i >= len(p.parts) || p.parts[i].Index < 0 {
		return bson.Value{}, false
	}
	return arr.Index(int(p.parts[i].Index))
}

// keyPathsMax limits the paths of KeyPaths: each number doubles them.
const keyPathsMax = 32

// KeyPaths returns the paths under which a wildcard index has the values that a query finds at p: each number in p,
// except as the first component, is a field or is left out as a position. whole are the paths of arrays directly in
// an array, which have one index key as a whole. ok is false if there are too many paths.
func (p Path) KeyPaths() (own, whole []string, ok bool) {
	own = []string{""}
	for i, c := range p.parts {
		position := i > 0 && c.Index >= 0
		if position && i < len(p.parts)-1 {
			whole = append(whole, own...)
		}
		for k, at := range own {
			if i > 0 {
				own[k] = at + "." + c.Name
			} else {
				own[k] = c.Name
			}
			if position {
				own = append(own, at)
			}
		}
		if len(own)+len(whole) > keyPathsMax {
			return nil, nil, false
		}
	}
	return own, whole, true
}
