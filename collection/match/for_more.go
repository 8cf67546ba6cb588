package match

import "github.com/cantledb/cantle/bson"

// HoldsForMore reports whether n, if it matches a document, also matches every document from which that one was
// made by removing fields and elements of arrays at any level. It is true for comparisons with scalars other than null.
func HoldsForMore(n Node) bool {
	switch n := n.(type) {
	case *And, *Or:
		for _, c := range n.Children() {
			if !HoldsForMore(c) {
				return false
			}
		}
		return true
	case *Leaf:
		return !n.whole && !n.path.HasPosition() && comparesScalars(n.pred)
	}
	return false
}

// comparesScalars reports whether only scalars other than null satisfy the predicate.
func comparesScalars(p predicate) bool {
	switch p := p.(type) {
	case *comparison:
		return isPresentScalar(p.with)
	case *in:
		for _, v := range p.values {
			if !isPresentScalar(v) {
				return false
			}
		}
		return true
	}
	return false
}

// isPresentScalar reports whether a comparison with v does not match a missing value, a document or an array.
func isPresentScalar(v bson.Value) bool {
	switch v.Type {
	case bson.TypeString, bson.TypeBool, bson.TypeDateTime, bson.TypeObjectID, bson.TypeTimestamp:
		return true
	}
	return v.IsNumber()
}
