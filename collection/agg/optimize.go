package agg

import "math"

// Optimize returns a pipeline with the same result that reads less: filters
// move towards the source, limits into sorts, $unwind into $lookup. The result
// is what Divide and Front expect.
// Manual: core/aggregation-pipeline-optimization.
func (p *Pipeline) Optimize() *Pipeline {
	stages := append([]Stage(nil), p.stages...)
	for i := 0; i < len(stages); {
		out, changed := improve(stages, i)
		if !changed {
			i++
			continue
		}
		// What moved may meet a new neighbour further left.
		stages, i = out, max(0, i-2)
	}
	q := p.with(stages)
	q.fields = p.fields
	return q
}

// improve tries the rules on stage i and the ones behind it.
func improve(stages []Stage, i int) ([]Stage, bool) {
	if isNothing(stages[i]) {
		return splice(stages, i, 1), true
	}
	if i+1 >= len(stages) {
		return stages, false
	}
	a, b := stages[i], stages[i+1]
	if m, ok := b.(*matchStage); ok {
		if with, ok := pushMatch(a, m); ok {
			return splice(stages, i, 2, with...), true
		}
	}
	if with, ok := pushLimit(a, b); ok {
		return splice(stages, i, 2, with...), true
	}
	if l, ok := a.(*lookupStage); ok && l.unwind == nil {
		if u, ok := b.(*unwindStage); ok && u.path.String() == l.as.String() {
			both := *l
			both.unwind = u
			return splice(stages, i, 2, &both), true
		}
	}
	if s, ok := a.(*sortStage); ok && i+2 < len(stages) {
		if with, ok := sortSkipLimit(s, b, stages[i+2]); ok {
			return splice(stages, i, 3, with...), true
		}
	}
	return stages, false
}

// isNothing says that a stage passes everything through.
func isNothing(s Stage) bool {
	switch s := s.(type) {
	case *skipStage:
		return s.n == 0
	case *matchStage:
		return admitsAll(s.node)
	}
	return false
}

// splice replaces n stages at i.
func splice(stages []Stage, i, n int, with ...Stage) []Stage {
	out := append([]Stage(nil), stages[:i]...)
	out = append(out, with...)
	return append(out, stages[i+n:]...)
}

// pushLimit joins or swaps a with a limit or skip behind it.
func pushLimit(a, b Stage) ([]Stage, bool) {
	switch b := b.(type) {
	case *limitStage:
		switch a := a.(type) {
		case *limitStage:
			return []Stage{&limitStage{min(a.n, b.n)}}, true
		case *sortStage:
			n := b.n
			if a.limit > 0 {
				n = min(n, a.limit)
			}
			return []Stage{&sortStage{a.pattern, n}}, true
		}
		if a.Constraints().OneToOne {
			return []Stage{b, a}, true
		}
	case *skipStage:
		if a, ok := a.(*skipStage); ok && a.n <= math.MaxInt64-b.n {
			return []Stage{&skipStage{a.n + b.n}}, true
		}
		if a.Constraints().OneToOne {
			return []Stage{b, a}, true
		}
	}
	return nil, false
}

// sortSkipLimit makes a top-k of a sort, a skip and a limit.
func sortSkipLimit(s *sortStage, b, c Stage) ([]Stage, bool) {
	skip, ok := b.(*skipStage)
	limit, ok2 := c.(*limitStage)
	if !ok || !ok2 || s.limit > 0 || skip.n > math.MaxInt64-limit.n {
		return nil, false
	}
	return []Stage{&sortStage{s.pattern, skip.n + limit.n}, skip}, true
}
