package agg

import "github.com/cantledb/cantle/collection/match"

// passMatch copies conditions of a following $match in front of the $redact, where an index can answer them: those that
// a document satisfies if its redacted form does. The $match stays, because the stage may remove the values that satisfy
// it.
// Manual: core/aggregation-pipeline-optimization#redact----match-sequence-optimization.
func (s *redactStage) passMatch(m *matchStage) ([]Stage, bool) {
	if s.filtered {
		return nil, false
	}
	var before []match.Node
	for _, c := range conjuncts(m.node, nil) {
		if match.HoldsForMore(c) {
			before = append(before, c)
		}
	}
	if before == nil {
		return nil, false
	}
	with := *s
	with.filtered = true
	return []Stage{&matchStage{node: match.AllOf(before...)}, &with, m}, true
}
