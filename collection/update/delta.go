package update

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/cantledb/cantle/bson"
)

// Delta is what an update changed, in the form of a change stream's
// updateDescription. Values alias the new document.
// Manual: reference/change-events/update.
type Delta struct {
	Updated   []Change // new and changed fields
	Removed   []string // dotted paths of removed fields
	Truncated []Truncation
	// Ambiguous are the paths, of the fields above, whose text does not say where
	// a field begins and whether a number is one: those over field names that
	// hold a dot or are a number. Each with its components.
	Ambiguous []Ambiguous

	trail []component // to the place compared now
	odd   int         // names in trail that make paths ambiguous
}

// Ambiguous is a path with its components.
type Ambiguous struct {
	Path  string
	trail []component
}

// component is a field of a document, or an element of an array.
type component struct {
	name    string
	index   int
	element bool
}

// enter and leave keep the trail.
func (d *Delta) enter(c component) {
	d.trail = append(d.trail, c)
	if c.odd() {
		d.odd++
	}
}

func (d *Delta) leave() {
	last := len(d.trail) - 1
	if d.trail[last].odd() {
		d.odd--
	}
	d.trail = d.trail[:last]
}

// odd reports a field name that reads like more than one, or like an element.
func (c component) odd() bool {
	if c.element {
		return false
	}
	digits := c.name != ""
	for i := range len(c.name) {
		if c.name[i] == '.' {
			return true
		}
		digits = digits && '0' <= c.name[i] && c.name[i] <= '9'
	}
	return digits
}

// noted remembers the components of the path of the trail if need be.
func (d *Delta) noted(path string) {
	if d.odd > 0 {
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

// Diff compares a document before and after an update. It looks into documents
// on both sides, and into arrays as long as elements were only changed in
// place, added at the end or cut off the end; what differs in another way is a
// change as a whole.
func Diff(old, updated bson.Raw) Delta {
	var d Delta
	d.document("", old, updated)
	return d
}

// IsEmpty reports that nothing changed, except maybe the order of fields.
func (d *Delta) IsEmpty() bool {
	return len(d.Updated) == 0 && len(d.Removed) == 0 && len(d.Truncated) == 0
}

func (d *Delta) document(prefix string, old, updated bson.Raw) {
	// Most updates leave the names and their order alone: both are read side by
	// side as far as they agree in that.
	a, b := old.Iter(), updated.Iter()
	same := 0
	for ; ; same++ {
		more, also := a.Next(), b.Next()
		if !more && !also {
			return
		}
		if !more || !also || !bytes.Equal(a.Name, b.Name) {
			break
		}
		if !b.Value.Identical(a.Value) {
			name := string(a.Name)
			d.enter(component{name: name})
			d.value(prefix+name, a.Value, b.Value)
			d.leave()
		}
	}
	d.rest(prefix, old, updated, same)
}

// rest is document for what follows the first fields, whose names agree.
func (d *Delta) rest(prefix string, old, updated bson.Raw, same int) {
	n := 0
	for it := old.Iter(); it.Next(); n++ {
		if n < same {
			continue
		}
		name := string(it.Name)
		v, ok := updated.Lookup(name)
		switch {
		case !ok:
			d.enter(component{name: name})
			d.noted(prefix + name)
			d.leave()
			d.Removed = append(d.Removed, prefix+name)
		case !v.Identical(it.Value):
			d.enter(component{name: name})
			d.value(prefix+name, it.Value, v)
			d.leave()
		}
	}
	n = 0
	for it := updated.Iter(); it.Next(); n++ {
		if n < same {
			continue
		}
		name := string(it.Name)
		if _, ok := old.Lookup(name); !ok {
			d.enter(component{name: name})
			d.noted(prefix + name)
			d.leave()
			d.Updated = append(d.Updated, Change{prefix + name, it.Value})
		}
	}
}

// value compares two values that are not identical.
func (d *Delta) value(at string, old, updated bson.Value) {
	switch {
	case old.Type == bson.TypeDocument && updated.Type == bson.TypeDocument:
		if o, u := bson.Raw(old.Data), bson.Raw(updated.Data); !o.IsEmpty() && !u.IsEmpty() {
			before := *d
			d.document(at+".", o, u)
			if len(before.Updated) != len(d.Updated) || len(before.Removed) != len(d.Removed) || len(before.Truncated) != len(d.Truncated) {
				return
			}
			*d = before // only the order of fields differs
		}
	case old.Type == bson.TypeArray && updated.Type == bson.TypeArray:
		if d.array(at, bson.Raw(old.Data), bson.Raw(updated.Data)) {
			return
		}
	}
	d.noted(at)
	d.Updated = append(d.Updated, Change{at, updated})
}

// array reports false, with nothing added, when describing the array element by
// element would be longer than giving it as a whole.
func (d *Delta) array(at string, old, updated bson.Raw) bool {
	before, size := *d, 0
	a, b := old.Iter(), updated.Iter()
	i := 0
	for ; ; i++ {
		more, grew := a.Next(), b.Next()
		if !grew {
			if more {
				d.noted(at)
				d.Truncated = append(d.Truncated, Truncation{at, i})
			}
			break
		}
		if more && a.Value.Identical(b.Value) {
			continue
		}
		sub := at + "." + strconv.Itoa(i)
		if size += len(sub) + len(b.Value.Data) + 2; size > len(updated) {
			*d = before
			return false
		}
		d.enter(component{index: i, element: true})
		if more {
			d.value(sub, a.Value, b.Value)
		} else {
			d.noted(sub)
			d.Updated = append(d.Updated, Change{sub, b.Value})
		}
		d.leave()
	}
	return i > 0 || !updated.IsEmpty()
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
