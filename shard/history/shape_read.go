package history

import (
	"cmp"
	"slices"
)

// ShapeQuery selects the work of shapes in a time.
type ShapeQuery struct {
	Level     int    // Tens or Fives
	Namespace string // of one collection; "" for all
	Only      *Shape // one shape; nil for all
	// First is the number of the first step, its time divided by the seconds of a step; Steps is the number of steps.
	First int64
	Steps int
}

// valid reports whether the query can be answered.
func (q *ShapeQuery) valid() bool {
	return (q.Level == Tens || q.Level == Fives) && q.Steps > 0 && int64(q.Steps) <= levels[q.Level].columns
}

// ShapeSums is the work of shapes in the steps of a ShapeQuery.
type ShapeSums struct {
	// Since is the first second of the records, the earliest of all servers. It may lie before the oldest step.
	Since int64
	// Steps has the work of all selected shapes in each step.
	Steps []ShapeWork
	Rows  []ShapeRow // those with the largest weight first; Others last
}

// ShapeRow is the work of one shape in all steps.
type ShapeRow struct {
	Shape
	ShapeWork
}

// ShapeSteps returns a query for the steps that lie in [from, to), in seconds since 1970, of the finest level that
// reaches back to the same number of steps before. If to is the present, the step that is being filled is the last.
func (r *Recorder) ShapeSteps(from, to int64) ShapeQuery {
	now := r.Second()
	q := ShapeQuery{Level: max(Tens, LevelFor(now-from+(to-from)))}
	step := Step(q.Level)
	last := (to - 1) / step
	if to >= now {
		last = now / step
	}
	q.Steps = int(min((to-from+step-1)/step, levels[q.Level].columns))
	q.First = last - int64(q.Steps) + 1
	return q
}

// Shapes returns the work of shapes.
func (r *Recorder) Shapes(q ShapeQuery) ShapeSums {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.update()
	out := ShapeSums{Since: r.since, Steps: make([]ShapeWork, q.Steps)}
	ring := &r.rings[q.Level]
	sums := shapeWorks{}
	add := func(at int, id shapeID, w ShapeWork) {
		s := &r.names.shapes[id]
		if q.Namespace != "" && s.Namespace != q.Namespace || q.Only != nil && *s != *q.Only {
			return
		}
		out.Steps[at].Add(w)
		sums.add(id, w)
	}
	for at := range out.Steps {
		n := q.First + int64(at)
		if n == ring.newest+1 {
			for id, w := range ring.shapesNow {
				add(at, id, w)
			}
		} else if ring.has(n) {
			for _, e := range ring.shapes[ring.slot(n)] {
				add(at, e.id, e.work())
			}
		}
	}
	for id, w := range sums {
		out.Rows = append(out.Rows, ShapeRow{r.names.shapes[id], w})
	}
	out.sort()
	return out
}

func (s *ShapeSums) sort() {
	slices.SortFunc(s.Rows, func(a, b ShapeRow) int {
		if a.Others() != b.Others() {
			if a.Others() {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), a.compare(&b.Shape))
	})
}

// add adds the sums of another server for the same query.
func (s *ShapeSums) add(o *ShapeSums) {
	if len(o.Steps) != len(s.Steps) {
		return
	}
	if o.Since > 0 && (s.Since == 0 || o.Since < s.Since) {
		s.Since = o.Since
	}
	for i := range o.Steps {
		s.Steps[i].Add(o.Steps[i])
	}
	at := map[Shape]int{}
	for i := range s.Rows {
		at[s.Rows[i].Shape] = i
	}
	for _, row := range o.Rows {
		if i, ok := at[row.Shape]; ok {
			s.Rows[i].Add(row.ShapeWork)
		} else {
			s.Rows = append(s.Rows, row)
		}
	}
	s.sort()
}
