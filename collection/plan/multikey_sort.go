package plan

// ordersArrays reports whether the rows of an access to a multikey index are in the order of its fields, although a
// document with arrays has several entries. A document sorts by its smallest element, or in descending order by its
// greatest, and the entry with this element is the first that the scan meets; the scan drops the others as
// duplicates. So the entry must not be outside of the bounds: every field with arrays must be unbounded.
//
// Only queries with a limit use it, because the set that finds the duplicates grows with the rows read and cannot
// spill, while a sort can.
// Manual: core/indexes/index-types/index-multikey#multikey-sort.
func (q *Query) ordersArrays(a access) bool {
	if q.Limit <= 0 || a.key != nil {
		return false
	}
	for i := range a.bounds {
		if a.index.Multikey.Field(i) && (!a.bounds[i].IsFull() || a.index.Parts[i].Path.HasPosition()) {
			return false
		}
	}
	return true
}
