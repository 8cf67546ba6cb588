package history

import (
	"cmp"
	"slices"
)

// Shape is a command without its values: the same text as in the command GetRequestReport. A Shape with a namespace only
// stands for all shapes of the collection that have no entry of their own, the zero Shape for those of all collections.
type Shape struct {
	Namespace             string
	Command, Filter, Sort string
}

// Others reports whether the shape stands for several shapes.
func (s *Shape) Others() bool { return s.Command == "" }

// ShapeWork sums the work of a shape.
type ShapeWork struct {
	RU      float64 // request units
	Runs    int64   // commands; pages after the first do not count
	Refused int64   // documents or statements that were refused for lack of request units
}

// Add adds the work of o.
func (w *ShapeWork) Add(o ShapeWork) {
	w.RU += o.RU
	w.Runs += o.Runs
	w.Refused += o.Refused
}

// weight orders shapes by importance: one refusal counts as one request unit, so that a shape of which nearly everything
// is refused keeps its entry.
func (w *ShapeWork) weight() float64 { return w.RU + float64(w.Refused) }

// shapeWorks holds sums by the number of a shape.
type shapeWorks map[shapeID]ShapeWork

func (m shapeWorks) add(id shapeID, w ShapeWork) {
	sum := m[id]
	sum.Add(w)
	m[id] = sum
}

// TakeShapes visits each shape that did work since the last call, with that work.
type TakeShapes func(visit func(Shape, ShapeWork))

const (
	// shapesOfStep is the maximum number of shapes with an entry of their own in one step of a level: those with the
	// largest weight. othersOfStep is that of collections whose other shapes are summed.
	shapesOfStep = 32
	othersOfStep = 8
	// newShapesMax is the maximum number of shapes without a number that get one in one update.
	newShapesMax = 2 * shapesOfStep
)

// shapeEntry is the work of one shape in one step of a level, in 16 bytes.
type shapeEntry struct {
	id            shapeID
	runs, refused uint32
	ru            float32
}

func (e *shapeEntry) work() ShapeWork {
	return ShapeWork{RU: float64(e.ru), Runs: int64(e.runs), Refused: int64(e.refused)}
}

// collectShapes adds the work of all shapes since the last update to the open second, in every level except the seconds.
func (r *Recorder) collectShapes() {
	if r.Config.Shapes == nil {
		return
	}
	type taken struct {
		shape Shape
		work  ShapeWork
	}
	var unknown []taken
	r.Config.Shapes(func(s Shape, w ShapeWork) {
		if id, ok := r.names.ids[s]; ok {
			r.addShape(id, w)
		} else {
			unknown = append(unknown, taken{s, w})
		}
	})
	slices.SortFunc(unknown, func(a, b taken) int {
		return cmp.Or(cmp.Compare(b.work.weight(), a.work.weight()), a.shape.compare(&b.shape))
	})
	for i, t := range unknown {
		if i < newShapesMax {
			r.addShape(r.shapeID(t.shape), t.work)
		} else {
			r.addShape(r.names.othersOf(t.shape.Namespace), t.work)
		}
	}
}

func (s *Shape) compare(o *Shape) int {
	return cmp.Or(cmp.Compare(s.Namespace, o.Namespace), cmp.Compare(s.Command, o.Command), cmp.Compare(s.Filter, o.Filter), cmp.Compare(s.Sort, o.Sort))
}

// addShape adds work to the steps that are being filled.
func (r *Recorder) addShape(id shapeID, w ShapeWork) {
	for l := Tens; l < levelCount; l++ {
		r.rings[l].shapesNow.add(id, w)
	}
}

// shapeEntries returns the entries of the step that is being filled: the shapes with the largest weight, and the sums of
// the others by collection. othersOf returns the number for the others of a shape's collection.
func (r *ring) shapeEntries(othersOf func(shapeID) shapeID) []shapeEntry {
	if len(r.shapesNow) == 0 {
		return nil
	}
	type one struct {
		id shapeID
		ShapeWork
	}
	byWeight := func(a, b one) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.id, b.id))
	}
	var list, rest []one
	others := shapeWorks{}
	for id, w := range r.shapesNow {
		if id < firstShapeID {
			others.add(id, w)
		} else {
			list = append(list, one{id, w})
		}
	}
	slices.SortFunc(list, byWeight)
	for _, x := range list[min(len(list), shapesOfStep):] {
		others.add(othersOf(x.id), x.ShapeWork)
	}
	list = list[:min(len(list), shapesOfStep)]
	all := others[0]
	delete(others, 0)
	for id, w := range others {
		rest = append(rest, one{id, w})
	}
	slices.SortFunc(rest, byWeight)
	for _, x := range rest[min(len(rest), othersOfStep):] {
		all.Add(x.ShapeWork)
	}
	list = append(list, rest[:min(len(rest), othersOfStep)]...)
	if all != (ShapeWork{}) {
		list = append(list, one{0, all})
	}
	out := make([]shapeEntry, len(list))
	for i, x := range list {
		out[i] = entryOf(x.id, x.ShapeWork)
	}
	return out
}

// entryOf returns an entry; counts beyond 32 bits become the largest count.
func entryOf(id shapeID, w ShapeWork) shapeEntry {
	most := func(n int64) uint32 { return uint32(min(n, 1<<32-1)) }
	return shapeEntry{id: id, runs: most(w.Runs), refused: most(w.Refused), ru: float32(w.RU)}
}
