package update

import (
	"bytes"
	"strconv"

	"github.com/cantledb/cantle/bson"
)

// Diff returns the changes between a document before and after an update by a pipeline. Embedded documents, and
// arrays whose elements were only changed in place, or added or removed at the end, are compared field by field. If
// the description of the changes would be longer than the value, or if the order of a document's fields has changed,
// the whole value counts as changed. whole reports this for the outermost document, which then counts as replaced.
// Manual: reference/change-events/update#update-operations.
func Diff(old, updated bson.Raw) (d Delta, whole bool) {
	size, ok := d.document("", old, updated)
	return d, !ok || size+entryBytes > len(updated)
}

// entryBytes, documentSize, sectionBytes and fieldBytes are numbers of bytes in an oplog entry {$v: 2, diff: {d: …,
// u: …, i: …, sname: …}} besides names and values. As in MongoDB, they decide whether a description of changes is
// longer than the value.
// Observed: local.oplog.rs of mongod 7.0.
const (
	entryBytes   = 15 // around a diff
	documentSize = 5  // of an empty document
	sectionBytes = 3 + documentSize
	fieldBytes   = 2
)

// document records the changes between two versions of a document, and returns the size in bytes of their
// description. ok is false if it is longer than the new document, or cannot express the new order of the fields.
func (d *Delta) document(prefix string, old, updated bson.Raw) (size int, ok bool) {
	size = documentSize
	// Most updates do not change the field names and their order: both documents are read in parallel as long as
	// their names agree.
	a, b := old.Iter(), updated.Iter()
	same := 0
	changed := false
	for ; ; same++ {
		more, also := a.Next(), b.Next()
		if !more && !also {
			return size, true
		}
		if !more || !also || !bytes.Equal(a.Name, b.Name) {
			break
		}
		if !b.Value.Identical(a.Value) {
			size += d.field(prefix, string(a.Name), a.Value, b.Value, &changed)
			if size > len(updated) {
				return size, false
			}
		}
	}
	return d.rest(prefix, old, updated, same, size, changed)
}

// rest continues document after the first same fields, whose names agree in both versions.
func (d *Delta) rest(prefix string, old, updated bson.Raw, same, size int, changed bool) (int, bool) {
	gone := 0
	n := 0
	for it := old.Iter(); it.Next(); n++ {
		if n < same {
			continue
		}
		if _, ok := updated.Lookup(string(it.Name)); !ok {
			name := string(it.Name)
			if gone++; gone == 1 {
				size += sectionBytes
			}
			size += fieldBytes + len(name) + 1
			d.remove(component{name: name}, prefix+name)
		}
	}
	// A description can only express this order: first the old fields that remain, in their old order, then the new
	// ones.
	was := old.Iter()
	for range same {
		was.Next()
	}
	fresh := 0
	n = 0
	for it := updated.Iter(); it.Next(); n++ {
		if n < same {
			continue
		}
		name := string(it.Name)
		before, ok := old.Lookup(name)
		if !ok {
			if fresh++; fresh == 1 {
				size += sectionBytes
			}
			size += fieldBytes + len(name) + len(it.Value.Data)
			d.update(component{name: name}, prefix+name, it.Value)
		} else {
			for was.Next() && string(was.Name) != name {
				if _, stays := updated.Lookup(string(was.Name)); stays {
					return size, false
				}
			}
			if string(was.Name) != name || fresh > 0 {
				return size, false
			}
			if !it.Value.Identical(before) {
				size += d.field(prefix, name, before, it.Value, &changed)
			}
		}
		if size > len(updated) {
			return size, false
		}
	}
	return size, true
}

// field records the difference of two values of a field that are not identical, and returns its size in bytes.
// changed reports, and is set, that the size of the section for changed values has been counted.
func (d *Delta) field(prefix, name string, old, updated bson.Value, changed *bool) int {
	if size, ok := d.inside(component{name: name}, prefix+name, old, updated); ok {
		return 1 + fieldBytes + len(name) + size
	}
	d.update(component{name: name}, prefix+name, updated)
	size := fieldBytes + len(name) + len(updated.Data)
	if !*changed {
		*changed = true
		size += sectionBytes
	}
	return size
}

// inside records the changes inside of a value, a document or an array, and returns their size in bytes. If ok is
// false, nothing was recorded: the value changed as a whole.
func (d *Delta) inside(c component, at string, old, updated bson.Value) (size int, ok bool) {
	if old.Type != updated.Type {
		return 0, false
	}
	before := d.mark()
	d.enter(c)
	switch old.Type {
	case bson.TypeDocument:
		size, ok = d.document(at+".", bson.Raw(old.Data), bson.Raw(updated.Data))
	case bson.TypeArray:
		size, ok = d.array(at, bson.Raw(old.Data), bson.Raw(updated.Data))
	}
	d.leave()
	if ok = ok && size <= len(updated.Data); !ok {
		d.back(before)
	}
	return size, ok
}

func (d *Delta) array(at string, old, updated bson.Raw) (size int, ok bool) {
	size = documentSize + fieldBytes + 2 // {a: true}
	a, b := old.Iter(), updated.Iter()
	for i := 0; ; i++ {
		more, grew := a.Next(), b.Next()
		switch {
		case !grew && more:
			d.recordAmbiguous(at)
			d.Truncated = append(d.Truncated, Truncation{at, i})
			return size + fieldBytes + 1 + 4, true
		case !grew:
			return size, true
		case more && a.Value.Identical(b.Value):
			continue
		}
		index := strconv.Itoa(i)
		c, sub := component{index: i, element: true}, at+"."+index
		size += 1 + fieldBytes + len(index)
		n, whole := 0, true
		if more {
			n, ok = d.inside(c, sub, a.Value, b.Value)
			whole = !ok
		}
		if whole {
			n = len(b.Value.Data)
			d.update(c, sub, b.Value)
		}
		if size += n; size > len(updated) {
			return size, false
		}
	}
}
