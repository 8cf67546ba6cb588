package agg

// Optimize returns a pipeline with the same result that reads less: it moves, for example, filters towards the
// source, limits into sorts, $unwind into $lookup; $unwind copies only the fields that are read later. Divide and Front
// expect a pipeline from Optimize.
// Manual: core/aggregation-pipeline-optimization.
func (p *Pipeline) Optimize() *Pipeline {
	stages := append([]Stage(nil), p.stages...)
	for i := 0; i < len(stages); {
		out, changed := improve(stages, i)
		if !changed {
			i++
			continue
		}
		// A moved stage may combine with its new neighbour further left.
		stages, i = out, max(0, i-2)
	}
	q := p.with(keepBeforeUnwind(stages))
	q.fields = p.fields
	return q
}

// improve applies the first fitting rule of the optimiser to stage i and the stages behind it, and reports
// whether the pipeline changed.
func improve(stages []Stage, i int) ([]Stage, bool) {
	if isNothing(stages[i]) {
		return splice(stages, i, 1), true
	}
	if i+1 >= len(stages) {
		return stages, false
	}
	a, b := stages[i], stages[i+1]
	if m, ok := b.(*matchStage); ok && !m.meta {
		if p, ok := a.(matchPasser); ok {
			if with, ok := p.passMatch(m); ok {
				return splice(stages, i, 2, with...), true
			}
		}
	}
	if x, ok := a.(absorber); ok {
		if with, n := x.absorb(stages[i+1:]); n > 0 {
			return splice(stages, i, 1+n, with...), true
		}
	}
	if cuts(b) && a.Constraints().OneToOne {
		return splice(stages, i, 2, b, a), true
	}
	return stages, false
}

// absorber is a stage that can do the work of following stages.
type absorber interface {
	// absorb returns stages that replace the stage and the first n of the stages behind it, rest. n is 0 if the
	// stage absorbs none. rest is not empty.
	absorb(rest []Stage) (with []Stage, n int)
}

// cuts reports whether a stage is a $limit or $skip, which only counts rows.
func cuts(s Stage) bool {
	switch s.(type) {
	case *limitStage, *skipStage:
		return true
	}
	return false
}

// isNothing reports whether a stage passes all rows through unchanged.
func isNothing(s Stage) bool {
	p, ok := s.(interface{ passesAll() bool })
	return ok && p.passesAll()
}

// splice replaces the n stages at index i.
func splice(stages []Stage, i, n int, with ...Stage) []Stage {
	out := append([]Stage(nil), stages[:i]...)
	out = append(out, with...)
	return append(out, stages[i+n:]...)
}
