package update

import (
	"strconv"

	"github.com/cantledb/cantle/bson"
)

// Delta returns the changes that the update p made to the document old with Input in. For operators they follow from
// the paths of the update (see tracer); for a pipeline, from a comparison. whole reports that the document counts as
// replaced. Manual: reference/change-events/update. Observed: mongod 7.0.
func (p *Program) Delta(old, updated bson.Raw, in Input) (d Delta, whole bool) {
	switch {
	case p.root != nil:
		t := tracer{&d, in.Position}
		t.document(p.root, "", old, updated)
		return d, false
	case p.pipeline:
		return Diff(old, updated)
	}
	return d, true
}

// tracer records the changes of an update by operators. It follows the tree of operators, whose nodes are the
// components of their paths, through the document before and after the update.
type tracer struct {
	*Delta
	position int // the position that $ refers to
}

// pair is one field before and after an update, missing if it does not exist, with the node of the update's path
// that may have changed it.
type pair struct {
	*node
	name         string
	old, updated bson.Value
}

func (p *pair) stays() bool { return !p.old.IsMissing() && !p.updated.IsMissing() }

// isInner reports whether only the contents of a field may have changed: its value is a document or an array before
// and after, and the operators act on paths below the field.
func (p *pair) isInner() bool {
	return p.do == nil && p.old.Type == p.updated.Type && (p.old.Type == bson.TypeDocument || p.old.Type == bson.TypeArray)
}

// document adds to the Delta those fields of a document which an update by operators changed. n is the node of the
// update's paths that leads to the document, and prefix its path with a dot. First come replaced and removed fields,
// then new ones, then changes inside of fields, as in MongoDB.
func (t tracer) document(n *node, prefix string, old, updated bson.Raw) {
	fields := make([]pair, len(n.children))
	for i, c := range n.children {
		fields[i].node, fields[i].name = c, c.name
		if c.kind == positional {
			fields[i].name = strconv.Itoa(t.position)
		}
	}
	t.lookup(n, fields, old, func(p *pair, v bson.Value) { p.old = v })
	t.lookup(n, fields, updated, func(p *pair, v bson.Value) { p.updated = v })
	for i := range fields {
		f := &fields[i]
		c, at := component{name: f.name}, prefix+f.name
		switch {
		case f.stays() && !f.isInner():
			t.value(f.node, c, at, f.old, f.updated)
		case f.updated.IsMissing() && !f.old.IsMissing():
			t.remove(c, at)
		}
	}
	for i := range fields {
		if f := &fields[i]; f.old.IsMissing() && !f.updated.IsMissing() {
			t.update(component{name: f.name}, prefix+f.name, f.updated)
		}
	}
	for i := range fields {
		if f := &fields[i]; f.stays() && f.isInner() {
			t.value(f.node, component{name: f.name}, prefix+f.name, f.old, f.updated)
		}
	}
}

// lookup reads doc once, and calls found for each of the fields that doc has, with its value.
func (t tracer) lookup(n *node, fields []pair, doc bson.Raw, found func(p *pair, v bson.Value)) {
	left := len(fields)
	for it := doc.Iter(); left > 0 && it.Next(); {
		if i, ok := n.byName[string(it.Name)]; ok {
			found(&fields[i], it.Value)
			left--
			continue
		}
		for i := range fields {
			if f := &fields[i]; (n.byName == nil || f.kind == positional) && f.name == string(it.Name) {
				found(f, it.Value)
				left--
				break
			}
		}
	}
}

// value records the change of a field or array element, at the path at, that exists before and after the update. n
// is the node of the update's path that leads to it.
func (t tracer) value(n *node, c component, at string, old, updated bson.Value) {
	p := pair{node: n, old: old, updated: updated}
	switch {
	case updated.Identical(old):
	case p.isInner() && old.Type == bson.TypeDocument:
		t.enter(c)
		t.document(n, at+".", bson.Raw(old.Data), bson.Raw(updated.Data))
		t.leave()
	case p.isInner() && n.arrays:
		t.elements(n, c, at, old, updated)
	case p.isInner():
		t.enter(c)
		t.positions(n, at, bson.Raw(old.Data), bson.Raw(updated.Data))
		t.leave()
	default:
		if push, ok := n.do.(*pushAction); !ok || push.sort != nil || !t.appended(c, at, old, updated) {
			t.update(c, at, updated)
		}
	}
}

// positions records the changes of array elements that the update selects by number or by $. The nulls that fill a
// gap before a new element are not recorded.
func (t tracer) positions(n *node, at string, old, updated bson.Raw) {
	a, b := old.Iter(), updated.Iter()
	for i := 0; b.Next(); i++ {
		more := a.Next()
		if more && a.Value.Identical(b.Value) {
			continue
		}
		c, by := t.at(n, i)
		el, sub := component{index: i, element: true}, at+"."+strconv.Itoa(i)
		switch {
		case more && c != nil:
			t.value(c, el, sub, a.Value, b.Value)
		case more || by:
			t.update(el, sub, b.Value)
		}
	}
}

// at returns the child of n that selects the array element i, by its number or by $; nil if none or both do. by
// reports that at least one does.
func (t tracer) at(n *node, i int) (c *node, by bool) {
	count := 0
	for _, o := range n.children {
		if o.kind == positional && i == t.position || o.kind == named && int(o.index) == i {
			c = o
			count++
		}
	}
	if count > 1 {
		c = nil
	}
	return c, count > 0
}

// elements records the changes of array elements that the update selects by $[] and $[id]. If more than one element
// has changed, the whole array counts as changed.
func (t tracer) elements(n *node, c component, at string, old, updated bson.Value) {
	var el component
	var before, after bson.Value
	changed, count := 0, 0
	a, b := bson.Raw(old.Data).Iter(), bson.Raw(updated.Data).Iter()
	for ; a.Next() && b.Next(); count++ {
		if !a.Value.Identical(b.Value) {
			changed++
			el, before, after = component{index: count, element: true}, a.Value, b.Value
		}
	}
	if changed != 1 {
		t.update(c, at, updated)
		return
	}
	sub := at + "." + strconv.Itoa(el.index)
	t.enter(c)
	if by := n.children[0]; len(n.children) == 1 && (by.kind == filtered || count == 1) {
		t.value(by, el, sub, before, after)
	} else {
		t.update(el, sub, after)
	}
	t.leave()
}

// appended records the new elements of an array that only grew at its end, and reports true. It returns false if
// other elements changed, or if the array was empty; then the whole array counts as changed.
func (t tracer) appended(c component, at string, old, updated bson.Value) bool {
	if old.Type != bson.TypeArray || bson.Raw(old.Data).IsEmpty() {
		return false
	}
	before := t.mark()
	a, b := bson.Raw(old.Data).Iter(), bson.Raw(updated.Data).Iter()
	t.enter(c)
	defer t.leave()
	for i := 0; ; i++ {
		more, grew := a.Next(), b.Next()
		switch {
		case !grew && !more:
			return true
		case !grew || more && !a.Value.Identical(b.Value):
			t.back(before)
			return false
		case !more:
			t.update(component{index: i, element: true}, at+"."+strconv.Itoa(i), b.Value)
		}
	}
}
