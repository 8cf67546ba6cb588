package update

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

// Delta holds the changes that an update made to a document, in the form of a change stream's updateDescription.
// Values alias the new document. Manual: reference/change-events/update.
type Delta struct {
	Updated   []Change // new and changed fields
	Removed   []string // dotted paths of removed fields
	Truncated []Truncation
	// Ambiguous are the changed paths whose text does not determine where a field name begins, or whether a number
	// is a field name: a name on the path contains a dot or, below another field, looks like a position. Each has
	// its components, for disambiguatedPaths.
	Ambiguous []Ambiguous

	trail          []component // path to the current place of the comparison
	ambiguousNames int         // number of names in trail that make paths ambiguous
}

// Ambiguous is a path with its components.
type Ambiguous struct {
	Path  string
	trail []component
}

// component is one step of a changed path: a field of a document, or an element of an array.
type component struct {
	name    string
	index   int
	element bool
}

// enter and leave maintain the trail.
func (d *Delta) enter(c component) {
	if d.isAmbiguousName(c) {
		d.ambiguousNames++
	}
	d.trail = append(d.trail, c)
}

func (d *Delta) leave() {
	last := len(d.trail) - 1
	c := d.trail[last]
	if d.trail = d.trail[:last]; d.isAmbiguousName(c) {
		d.ambiguousNames--
	}
}

// isAmbiguousName reports whether the field name c, after the components of the trail, looks in a path like several
// names or like an array position. The first name of a path cannot be read as a position. Manual:
// reference/change-events/update#path-disambiguation.
func (d *Delta) isAmbiguousName(c component) bool {
	return !c.element && (strings.IndexByte(c.name, '.') >= 0 || len(d.trail) > 0 && path.Position(c.name) >= 0)
}

// recordAmbiguous adds a changed path with its components, those of the trail, to Ambiguous if the path is
// ambiguous.
func (d *Delta) recordAmbiguous(path string) {
	if d.ambiguousNames > 0 {
		d.Ambiguous = append(d.Ambiguous, Ambiguous{path, slices.Clone(d.trail)})
	}
}

// Change is a new value at a dotted path.
type Change struct {
	Path  string
	Value bson.Value
}

// Truncation is an array that lost elements at its end.
type Truncation struct {
	Path string
	Size int
}

// IsEmpty reports whether nothing changed, except perhaps the order of fields.
func (d *Delta) IsEmpty() bool {
	return len(d.Updated) == 0 && len(d.Removed) == 0 && len(d.Truncated) == 0
}

// mark is a state of a Delta that can be restored.
type mark struct{ updated, removed, truncated, ambiguous int }

func (d *Delta) mark() mark {
	return mark{len(d.Updated), len(d.Removed), len(d.Truncated), len(d.Ambiguous)}
}

func (d *Delta) back(m mark) {
	d.Updated, d.Removed = d.Updated[:m.updated], d.Removed[:m.removed]
	d.Truncated, d.Ambiguous = d.Truncated[:m.truncated], d.Ambiguous[:m.ambiguous]
}

// update and remove record a field or element below the trail.
func (d *Delta) update(c component, at string, v bson.Value) {
	d.enter(c)
	d.recordAmbiguous(at)
	d.leave()
	d.Updated = append(d.Updated, Change{at, v})
}

func (d *Delta) remove(c component, at string) {
	d.enter(c)
	d.recordAmbiguous(at)
	d.leave()
	d.Removed = append(d.Removed, at)
}

// Append writes the fields of an updateDescription into an open document.
func (d *Delta) Append(b *bson.Builder) {
	b.BeginDoc("updatedFields")
	for _, c := range d.Updated {
		b.Value(c.Path, c.Value)
	}
	b.End()
	b.BeginArray("removedFields")
	for _, p := range d.Removed {
		b.String("", p)
	}
	b.End()
	b.BeginArray("truncatedArrays")
	for _, t := range d.Truncated {
		b.BeginDoc("")
		b.String("field", t.Path)
		b.Int32("newSize", int32(t.Size))
		b.End()
	}
	b.End()
	if len(d.Ambiguous) == 0 {
		return
	}
	b.BeginDoc("disambiguatedPaths")
	for _, a := range d.Ambiguous {
		b.BeginArray(a.Path)
		for _, c := range a.trail {
			if c.element {
				b.Int32("", int32(c.index))
			} else {
				b.String("", c.name)
			}
		}
		b.End()
	}
	b.End()
}
