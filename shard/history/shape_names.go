package history

import (
	"cmp"
	"slices"
)

// shapeID is the number of a Shape in the entries of steps: 0 for all others, below firstShapeID for the others of a
// collection.
type shapeID uint16

const (
	firstShapeID = 64                               // so many numbers are for others
	shapeIDsMax  = firstShapeID + 1024              // all numbers
	shapesFreed  = (shapeIDsMax - firstShapeID) / 8 // numbers that become free when all are in use
)

// shapeNames assigns numbers to shapes. Its size is bounded: when no number is free, the shapes with the smallest weight
// in all steps lose theirs, and their work becomes that of others.
type shapeNames struct {
	ids    map[Shape]shapeID
	shapes []Shape // by number; the zero Shape at 0 and at free numbers
	free   []shapeID
}

func newShapeNames() shapeNames {
	return shapeNames{ids: map[Shape]shapeID{{}: 0}, shapes: make([]Shape, firstShapeID)}
}

// othersOf returns the number for the other shapes of a collection, 0 if too many collections have one.
func (n *shapeNames) othersOf(namespace string) shapeID {
	s := Shape{Namespace: namespace}
	if id, ok := n.ids[s]; ok {
		return id
	}
	for id := shapeID(1); id < firstShapeID; id++ {
		if n.shapes[id] == (Shape{}) {
			n.shapes[id], n.ids[s] = s, id
			return id
		}
	}
	return 0
}

// left returns how many shapes can get a number.
func (n *shapeNames) left() int { return len(n.free) + shapeIDsMax - len(n.shapes) }

// add returns the number of a shape. ok is false if the shape has none, and none is free.
func (n *shapeNames) add(s Shape) (id shapeID, ok bool) {
	if id, ok := n.ids[s]; ok {
		return id, true
	}
	if s.Others() {
		return n.othersOf(s.Namespace), true
	}
	switch {
	case len(n.free) > 0:
		id = n.free[len(n.free)-1]
		n.free = n.free[:len(n.free)-1]
		n.shapes[id] = s
	case len(n.shapes) < shapeIDsMax:
		id = shapeID(len(n.shapes))
		n.shapes = append(n.shapes, s)
	default:
		return 0, false
	}
	n.ids[s] = id
	return id, true
}

// shapeID returns the number of a shape. If none is free, it first frees those of the shapes with the smallest weight.
func (r *Recorder) shapeID(s Shape) shapeID {
	id, ok := r.names.add(s)
	if !ok {
		r.freeShapes()
		id, _ = r.names.add(s)
	}
	return id
}

// eachShapeEntry visits all entries of full steps.
func (r *Recorder) eachShapeEntry(visit func(*shapeEntry)) {
	for l := range r.rings {
		for _, step := range r.rings[l].shapes {
			for i := range step {
				visit(&step[i])
			}
		}
	}
}

// freeShapes frees the numbers of shapesFreed shapes, those with the smallest weight in all steps, and the numbers of
// collections' others without entries. The entries of these shapes become entries of others.
func (r *Recorder) freeShapes() {
	n := &r.names
	weight, used := make([]float64, len(n.shapes)), make([]bool, firstShapeID)
	count := func(id shapeID, w ShapeWork) {
		if weight[id] += w.weight(); id < firstShapeID {
			used[id] = true
		}
	}
	r.eachShapeEntry(func(e *shapeEntry) { count(e.id, e.work()) })
	for l := range r.rings {
		for id, w := range r.rings[l].shapesNow {
			count(id, w)
		}
	}
	for id := shapeID(1); id < firstShapeID; id++ {
		if !used[id] && n.shapes[id] != (Shape{}) {
			delete(n.ids, n.shapes[id])
			n.shapes[id] = Shape{}
		}
	}
	victims := make([]shapeID, 0, len(n.shapes))
	for id := firstShapeID; id < len(n.shapes); id++ {
		if n.shapes[id] != (Shape{}) { // else it is free already
			victims = append(victims, shapeID(id))
		}
	}
	slices.SortFunc(victims, func(a, b shapeID) int { return cmp.Or(cmp.Compare(weight[a], weight[b]), cmp.Compare(a, b)) })
	victims = victims[:min(len(victims), shapesFreed)]
	becomes := map[shapeID]shapeID{}
	for _, id := range victims {
		becomes[id] = n.othersOf(n.shapes[id].Namespace)
	}
	r.renumberShapes(becomes)
	for _, id := range victims {
		delete(n.ids, n.shapes[id])
		n.shapes[id] = Shape{}
		n.free = append(n.free, id)
	}
}

// renumberShapes gives the entries of some shapes other numbers. Entries of one step with the same number become one.
func (r *Recorder) renumberShapes(becomes map[shapeID]shapeID) {
	for l := range r.rings {
		ring := &r.rings[l]
		for i, step := range ring.shapes {
			ring.shapes[i] = renumbered(step, becomes)
		}
		for id, w := range ring.shapesNow {
			if to, ok := becomes[id]; ok {
				delete(ring.shapesNow, id)
				ring.shapesNow.add(to, w)
			}
		}
	}
}

func renumbered(step []shapeEntry, becomes map[shapeID]shapeID) []shapeEntry {
	out := step[:0]
	var moved shapeWorks
	for _, e := range step {
		to, ok := becomes[e.id]
		if !ok {
			out = append(out, e)
			continue
		}
		if moved == nil {
			moved = shapeWorks{}
		}
		moved.add(to, e.work())
	}
	for i := range out {
		if w, ok := moved[out[i].id]; ok {
			w.Add(out[i].work())
			out[i] = entryOf(out[i].id, w)
			delete(moved, out[i].id)
		}
	}
	for id, w := range moved {
		out = append(out, entryOf(id, w))
	}
	return out
}
