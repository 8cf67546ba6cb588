package history

import (
	"encoding/binary"
	"encoding/json"
)

// storedShapes holds the entries of consecutive steps of one level, and the shapes that they name. The last step may be
// partial: it was being filled when it was stored.
type storedShapes struct {
	Version int
	Level   int
	Since   int64 // of the Recorder
	First   int64 // number of the first step
	Shapes  []Shape
	Steps   [][]storedShapeWork
}

type storedShapeWork struct {
	Shape         int // index in Shapes
	RU            float32
	Runs, Refused uint32
}

// shapesLetter begins the names of the records with shapes.
const shapesLetter = 'q'

// shapesName returns the name of the record with the shapes of a level in one period of five minutes.
func shapesName(level int, five int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{shapesLetter, "stf"[level]}, uint64(five))
}

// cutShapes copies the entries of a level that lie in [from, to), for storing; with partial, including the step that is
// being filled.
func (r *Recorder) cutShapes(level int, from, to int64, partial bool) storedShapes {
	ring := &r.rings[level]
	out := storedShapes{Version: storedVersion, Level: level, Since: r.since, First: max(from/ring.step, ring.newest-int64(len(ring.columns))+1)}
	index := map[shapeID]int{}
	add := func(entries []shapeEntry) {
		step := []storedShapeWork{}
		for _, e := range entries {
			i, ok := index[e.id]
			if !ok {
				i = len(out.Shapes)
				index[e.id] = i
				out.Shapes = append(out.Shapes, r.names.shapes[e.id])
			}
			step = append(step, storedShapeWork{i, e.ru, e.runs, e.refused})
		}
		out.Steps = append(out.Steps, step)
	}
	n := out.First
	for ; n <= min(to/ring.step-1, ring.newest); n++ {
		add(ring.shapes[ring.slot(n)])
	}
	if partial && n == ring.newest+1 && n < to/ring.step {
		add(ring.shapeEntries(r.othersOfShape))
	}
	return out
}

// othersOfShape returns the number for the others of a shape's collection.
func (r *Recorder) othersOfShape(id shapeID) shapeID {
	return r.names.othersOf(r.names.shapes[id].Namespace)
}

// loadShapes reads a record of shapes; it reports whether some of its steps are still needed, false if it cannot be
// decoded.
func (r *Recorder) loadShapes(value []byte) (young bool) {
	var k storedShapes
	if json.Unmarshal(value, &k) != nil || k.Version != storedVersion || k.Level <= Seconds || k.Level >= levelCount {
		return false
	}
	if k.Since > 0 {
		r.since = min(r.since, k.Since)
	}
	if r.names.left() < len(k.Shapes) {
		r.freeShapes()
	}
	ids := make([]shapeID, len(k.Shapes))
	for i, s := range k.Shapes {
		var ok bool
		if ids[i], ok = r.names.add(s); !ok {
			ids[i] = r.names.othersOf(s.Namespace)
		}
	}
	ring := &r.rings[k.Level]
	for i, step := range k.Steps {
		n := k.First + int64(i)
		if !ring.has(n) && n != ring.newest+1 {
			continue
		}
		young = true
		var entries []shapeEntry
		for _, w := range step {
			if w.Shape < 0 || w.Shape >= len(k.Shapes) || len(entries) > shapesOfStep+othersOfStep {
				continue
			}
			e := shapeEntry{ids[w.Shape], w.Runs, w.Refused, w.RU}
			if n == ring.newest+1 {
				ring.shapesNow.add(e.id, e.work())
			} else {
				entries = append(entries, e)
			}
		}
		if ring.has(n) {
			ring.shapes[ring.slot(n)] = entries
		}
	}
	return young
}
