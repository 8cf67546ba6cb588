package plan

import "slices"

// skipsAfterMerge reports whether the skip of a query on several shards can drop merged rows before their documents
// are fetched and projected; n reads the rows. A search by distance or text computes metadata from documents, a point
// read has a price of its own, and rows that are only counted have no document.
func (q *Query) skipsAfterMerge(n Node) bool {
	if _, ok := n.(*PointRead); ok || q.Skip <= 0 || q.near != nil || q.text != nil || q.counts() {
		return false
	}
	return true
}

// skipAfterMerge returns the plan of a query with a skip on several shards. Of its nodes, the shards execute those below
// the skip (Solution.OnShards): they deliver rows with the sort key and, where nothing else reads the document, without
// it. The skip, the fetch and the projection above run on the merged rows (Solution.AfterMerge). n is the plan as far as
// it reads and sorts; limited reports that a sort limits it.
func (q *Query) skipAfterMerge(s *Solution, n Node, covered, limited bool) Node {
	skip := &Skip{Input: n, N: q.Skip, Merged: true}
	var top Node = skip
	fetch, keys := q.fetchAfterMerge(s, n)
	switch {
	case fetch != nil:
		above := *fetch
		above.Input, above.Batch, above.Rows = skip, true, 0
		if s.Limit > 0 {
			above.Rows = s.Skip + s.Limit
		}
		skip.Input, top = keys, &above
	case s.Sorted:
		skip.Input = &SortKey{Input: n, Pattern: q.Pattern}
	}
	skip.Charged = !covered
	top = q.present(top, covered)
	if s.Limit > 0 && !limited {
		top = &Limit{Input: top, N: s.Skip + s.Limit}
	}
	return top
}

// fetchAfterMerge returns the fetch of a plan that can run after the merge, because it has no filter, and the input
// of the fetch with the sort keys of its rows; nil if there is none.
func (q *Query) fetchAfterMerge(s *Solution, n Node) (fetch *Fetch, keys Node) {
	fetch, ok := n.(*Fetch)
	if !ok || fetch.Filter != nil {
		return nil, nil
	}
	if q.Pattern == nil {
		return fetch, fetch.Input
	}
	scan, ok := fetch.Input.(*IndexScan)
	if m, merges := fetch.Input.(*SortMerge); merges && m.Index != nil {
		scan, ok = m.Branches[0].(*IndexScan)
	}
	if !s.Sorted || !ok || !scan.Index.IsOrdered() && scan.Index.Kind.Name != "wildcard" {
		return nil, nil
	}
	k := &SortKey{Input: fetch.Input, Pattern: q.Pattern, Index: scan.Index}
	paths, _ := scan.KeyFields()
	for _, part := range q.Pattern.Parts {
		if part.Meta != "" {
			return nil, nil
		}
		i := slices.Index(paths, part.Path.String())
		if i < 0 {
			return nil, nil
		}
		k.Fields = append(k.Fields, i)
	}
	return fetch, k
}

// OnShards returns the part of the plan that runs on each shard.
func (s *Solution) OnShards() Node {
	_, skip := s.AfterMerge()
	switch {
	case skip == nil:
		return s.Shards
	case s.Limit > 0:
		return &Limit{Input: skip.Input, N: s.Skip + s.Limit}
	}
	return skip.Input
}

// AfterMerge returns the skip that drops merged rows of all shards, and the nodes above it, which run on the other
// rows, from the top down; nil if Skip and Limit are all that runs after the merge. Rows without a document are fetched
// there even if no node fetches them, because a shard may have replaced its plan.
func (s *Solution) AfterMerge() (above []Node, skip *Skip) {
	if s.Skip == 0 {
		return nil, nil
	}
	for n := s.Shards; n != nil; n = n.Inputs()[0] {
		if x, ok := n.(*Skip); ok && x.Merged {
			return above, x
		}
		if len(n.Inputs()) != 1 {
			break
		}
		above = append(above, n)
	}
	return nil, nil
}

// SkippedRecords returns the number of records that the plan drops at the beginning of a scan of a whole collection
// without a filter; 0 for another plan.
func (s *Solution) SkippedRecords() int64 {
	for n := s.Shards; n != nil; n = n.Inputs()[0] {
		if x, ok := n.(*Skip); ok {
			scan, ok := x.Input.(*RecordScan)
			if !ok || scan.Filter != nil || scan.Bounds.Ranges != nil || scan.Bounds.IDs != nil {
				return 0
			}
			return x.N
		}
		if len(n.Inputs()) != 1 {
			break
		}
	}
	return 0
}
