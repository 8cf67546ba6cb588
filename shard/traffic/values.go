package traffic

import (
	"maps"
	"strings"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
)

// value is the number of a field's path and a hash of the field's value.
type value struct {
	path uint16
	hash uint32
}

// Bounds of the fields of a statement.
const (
	valuesMax    = 16 // of one statement
	depthMax     = 3  // depth of nested documents
	pathsMax     = 4096
	pathBytesMax = 120
	textsMax     = 24 // values of a collection and minute that are kept as text
	textsOf      = 4  // of one field
	textBytesMax = 48
)

// paths assigns small numbers to the paths of fields in statements, so that a sample takes little memory.
type paths struct {
	mu   sync.Mutex
	by   map[string]uint16
	list []pathRow
}

// pathRow is one path, and the minute in which it last occurred.
type pathRow struct {
	text string
	used int64
}

// number returns the number of a path, assigning one if needed; false if the path is too long or there are too many.
func (p *paths) number(path string, minute int64) (uint16, bool) {
	if len(path) > pathBytesMax {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.by[path]; ok {
		p.list[n].used = minute
		return n, true
	}
	n := len(p.list)
	if n >= pathsMax {
		if n = p.unusedNumber(minute); n < 0 {
			return 0, false
		}
		delete(p.by, p.list[n].text)
	} else {
		p.list = append(p.list, pathRow{})
	}
	if p.by == nil {
		p.by = map[string]uint16{}
	}
	path = strings.Clone(path)
	p.by[path], p.list[n] = uint16(n), pathRow{path, minute}
	return uint16(n), true
}

// unusedNumber returns the number of a path that no kept statement uses any more, -1 if there is none.
func (p *paths) unusedNumber(minute int64) int {
	for n := range p.list {
		if p.list[n].used <= minute-minutesKept {
			return n
		}
	}
	return -1
}

// all copies the map from paths to numbers, and the list of paths by number.
func (p *paths) all() (map[string]uint16, []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]string, len(p.list))
	for i := range p.list {
		list[i] = p.list[i].text
	}
	return maps.Clone(p.by), list
}

// reading is a statement whose fields are being read.
type reading struct {
	r      *Recorder
	b      *bin
	minute int64
	x      *sample
}

// read records in x the hashes of the fields that a statement fixes or its document has. The caller holds the bin's
// mutex.
func (r *Recorder) read(b *bin, minute int64, x *sample, s *Statement) {
	d := reading{r, b, minute, x}
	if s.Document != nil {
		d.document(s.Document, "", depthMax)
		return
	}
	d.filter(s.Filter, depthMax)
}

// document records the hashes of the fields of a document, except arrays, which cannot be shard key values.
func (d *reading) document(doc bson.Raw, above string, depth int) {
	for it := doc.Iter(); it.Next(); {
		name := above + string(it.Name)
		inner, isDoc := it.Value.Doc()
		switch {
		case it.Value.Type == bson.TypeArray:
		case isDoc && it.Value.Type == bson.TypeDocument && depth > 1:
			d.document(inner, name+".", depth-1)
		default:
			d.add(name, it.Value)
		}
	}
}

// filter records the values to which a filter fixes fields.
func (d *reading) filter(f bson.Raw, depth int) {
	for it := f.Iter(); it.Next(); {
		name := string(it.Name)
		switch {
		case name == "$and" && depth > 0:
			list, _ := it.Value.Array()
			for v := range list.Values() {
				inner, _ := v.Doc()
				d.filter(inner, depth-1)
			}
		case strings.HasPrefix(name, "$"), it.Value.Type == bson.TypeRegex, it.Value.Type == bson.TypeArray:
		default:
			d.condition(name, it.Value)
		}
	}
}

// condition records one condition of a filter.
func (d *reading) condition(path string, v bson.Value) {
	ops, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		d.add(path, v)
		return
	}
	first, ok := ops.First()
	if !ok || len(first.Name) == 0 || first.Name[0] != '$' {
		d.add(path, v)
		return
	}
	for it := ops.Iter(); it.Next(); {
		switch string(it.Name) {
		case "$eq":
			d.add(path, it.Value)
			return
		case "$in":
			list, _ := it.Value.Array()
			if list.Len() <= valuesMax {
				for v := range list.Values() {
					d.add(path, v)
				}
			}
			return
		}
	}
}

// add records one value.
func (d *reading) add(path string, v bson.Value) {
	if len(d.x.values) >= valuesMax {
		d.x.kind |= isCut
		return
	}
	n, ok := d.r.paths.number(path, d.minute)
	if !ok {
		d.x.kind |= isCut
		return
	}
	at := value{n, hashOf(v)}
	d.x.values = append(d.x.values, at)
	if !d.b.seen[at] {
		if d.b.seen != nil && len(d.b.seen) < samplesOf*valuesMax {
			d.b.seen[at] = true
		}
		return
	}
	d.name(at, v)
}

// name keeps the text of a repeated value.
func (d *reading) name(at value, v bson.Value) {
	if _, ok := d.b.texts[at]; ok || len(d.b.texts) >= textsMax {
		return
	}
	n := 0
	for other := range d.b.texts {
		if other.path == at.path {
			n++
		}
	}
	text := v.String()
	if n >= textsOf {
		return
	}
	if len(text) > textBytesMax {
		text = strings.ToValidUTF8(text[:textBytesMax], "") + "…"
	}
	if d.b.texts == nil {
		d.b.texts = map[value]string{}
	}
	d.b.texts[at] = strings.Clone(text)
}

// hashOf returns a hash of a value of a field (FNV-1a, stirred); equal numbers have the same hash.
func hashOf(v bson.Value) uint32 {
	if v.IsNullish() {
		v = bson.Null
	}
	var scratch [128]byte
	h := uint64(14695981039346656037)
	for _, b := range keystring.Append(scratch[:0], v, keystring.Ascending, nil, nil) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return uint32(mix64(h) >> 32)
}
