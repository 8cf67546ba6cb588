package agg

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

// absorber is a stage that can do the work of some stages that may stand behind it.
type absorber interface {
	// absorb returns the stages that do what the stage and the first n of rest do;
	// n is 0 for none. There is at least one in rest.
	absorb(rest []Stage) (with []Stage, n int)
}

// cuts says that a stage looks at the number of rows only.
func cuts(s Stage) bool {
	switch s.(type) {
	case *limitStage, *skipStage:
		return true
	}
	return false
}

// isNothing says that a stage passes everything through.
func isNothing(s Stage) bool {
	p, ok := s.(interface{ passesAll() bool })
	return ok && p.passesAll()
}

// splice replaces n stages at i.
func splice(stages []Stage, i, n int, with ...Stage) []Stage {
	out := append([]Stage(nil), stages[:i]...)
	out = append(out, with...)
	return append(out, stages[i+n:]...)
}
