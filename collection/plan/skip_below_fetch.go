package plan

// skipBelowFetch places a skip of n rows into a plan whose rows come in the query's order: below a fetch without a
// filter, so that skipped documents are not read, on a scan of records without a filter, which then counts keys, or on
// the covered index scan below a projection. It returns false if the plan has none of these, so that the skip must be
// placed above.
func skipBelowFetch(in Node, n int64, covered bool) (Node, bool) {
	switch x := in.(type) {
	case *Fetch:
		if x.Filter == nil {
			fetch := *x
			fetch.Input = &Skip{Input: x.Input, N: n, Charged: true}
			return &fetch, true
		}
	case *RecordScan:
		if x.Filter == nil {
			return &Skip{Input: x, N: n, Charged: true}, true
		}
	case *IndexScan:
		if covered {
			return &Skip{Input: x, N: n}, true
		}
	}
	return in, false
}
