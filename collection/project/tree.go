package project

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// action is the effect of a child on its field.
type action uint8

const (
	keep    action = iota // leave unchanged
	drop                  // leave out
	descend               // apply a tree to the value
	compute               // set to the value of an expression
	slice                 // keep some elements of an array
	element               // keep the first matching element ($elemMatch)
)

// child is the effect on one field.
type child struct {
	name string
	act  action
	tree *tree            // for descend
	expr expr.Expr        // for compute
	cut  cut              // for slice
	elem *match.ElemFirst // for element
	// positional is set if the operator $ is at the end of this path: the first array on the path is reduced to the
	// element that matches the find's filter.
	positional bool
}

// tree is the effect of a projection on the fields of one document or subdocument; its children are the fields that
// the projection names. The children are in the order of the specification.
type tree struct {
	kind     Kind
	children []child
	names    []string       // names of the children
	index    map[string]int // index of the children by name, if there are many
	// computes is set if there are computed fields in this tree or below: they are added even if the document lacks
	// them.
	computes bool
	// deferred is set if some fields may be added at the end of the document: computed fields, and in an inclusion
	// those of $elemMatch.
	deferred bool
	// placed is the number of children whose result is written at the place of the document's field.
	placed int
}

// scanMax is the largest number of children whose names are compared one by one; for more, there is a map.
const scanMax = 12

// seal completes a tree after its last child was added.
func (t *tree) seal() {
	t.names, t.placed = t.names[:0], 0
	for i := range t.children {
		k := &t.children[i]
		t.names = append(t.names, k.name)
		switch k.act {
		case descend:
			k.tree.kind = t.kind
			k.tree.seal()
			t.computes = t.computes || k.tree.computes
		case compute:
			t.computes = true
		case element:
			t.deferred = t.deferred || t.kind == Inclusion
		}
		if t.kind != Inclusion || k.act != compute && k.act != element {
			t.placed++
		}
	}
	t.deferred = t.deferred || t.computes
	if len(t.children) > scanMax {
		t.number()
	}
}

// put appends a child to the tree. With many children, a map of names makes the checks of huge projections fast.
func (t *tree) put(k child) {
	t.children = append(t.children, k)
	switch {
	case t.index != nil:
		t.index[k.name] = len(t.children) - 1
	case len(t.children) > scanMax:
		t.number()
	}
}

// number makes the map of the children's names.
func (t *tree) number() {
	t.index = make(map[string]int, len(t.children))
	for i := range t.children {
		t.index[t.children[i].name] = i
	}
}

// find returns the child for the field name, nil if the projection does not name the field.
func (t *tree) find(name string) *child {
	if t.index != nil {
		if i, ok := t.index[name]; ok {
			return &t.children[i]
		}
		return nil
	}
	for i := range t.children {
		if t.children[i].name == name {
			return &t.children[i]
		}
	}
	return nil
}

// next returns the first field of doc from offset p on that has a child: the child's number, the field's value and
// the offset of the next field. The number is -1 if there is none; see bson.Raw.Scan.
func (t *tree) next(doc bson.Raw, p int) (which int, v bson.Value, end int) {
	if t.index == nil {
		return doc.Scan(p, t.names)
	}
	for it := doc.IterAt(p); it.Next(); {
		if i, ok := t.index[string(it.Name)]; ok {
			return i, it.Value, it.Offset(doc)
		}
	}
	return -1, bson.Value{}, len(doc)
}

// run is one application of a tree to a document.
type run struct {
	env  *mql.Env
	s    *expr.Scratch
	dst  *bson.Builder
	root bson.Raw
	pos  *positional
	// index is the position that $ refers to, computed on demand.
	index   int
	indexed bool
	// nested counts the arrays around the current value that are themselves elements of arrays: $slice does not
	// apply inside of them.
	nested int
}

// bits is a set of children.
type bits struct {
	low  uint64
	high []uint64
}

func (b *bits) has(i int) bool {
	if i < 64 {
		return b.low&(1<<i) != 0
	}
	return len(b.high) > 0 && b.high[i/64]&(1<<(i%64)) != 0
}

func (b *bits) set(i, n int) {
	if i < 64 {
		b.low |= 1 << i
		return
	}
	if b.high == nil {
		b.high = make([]uint64, n/64+1)
	}
	b.high[i/64] |= 1 << (i % 64)
}

// fields appends the fields that the projection t makes of the document doc. positional is false after the
// positional operator has been applied.
func (r *run) fields(t *tree, doc bson.Raw, positional bool) error {
	var done bits
	left := t.placed
	from := 4 // start of the run of unchanged fields
	for p := 4; ; {
		i, v, end := t.next(doc, p)
		if i < 0 {
			break
		}
		k := &t.children[i]
		start := end - len(v.Data) - len(k.name) - 2
		p = end
		if done.has(i) {
			if t.kind == Inclusion || k.act != keep {
				r.flush(t, doc, from, start)
				from = end
			}
			continue // a repeated field
		}
		if k.act == keep && !k.positional {
			done.set(i, len(t.children))
			left--
			if t.kind == Inclusion {
				r.dst.Splice(doc[start:end])
				if left == 0 {
					break
				}
			}
			continue
		}
		r.flush(t, doc, from, start)
		from = end
		placed, err := r.field(t, k, v, positional && k.positional)
		if err != nil {
			return err
		}
		if placed {
			done.set(i, len(t.children))
			if left--; left == 0 && t.kind == Inclusion {
				break
			}
		}
	}
	r.flush(t, doc, from, len(doc)-1)
	if !t.deferred {
		return nil
	}
	return r.rest(t, doc, &done)
}

// flush copies the bytes [from, to) of doc, fields that the projection t does not name, unless t is an inclusion.
func (r *run) flush(t *tree, doc bson.Raw, from, to int) {
	if t.kind != Inclusion && from < to {
		r.dst.Splice(doc[from:to])
	}
}

// field appends the result of the child k for an existing field with value v, in the field's place. placed is false
// if the result must be added at the end instead.
func (r *run) field(t *tree, k *child, v bson.Value, positional bool) (placed bool, err error) {
	switch k.act {
	case compute:
		if t.kind == Inclusion {
			return false, nil
		}
		return true, r.computed(k)
	case element:
		if t.kind == Inclusion {
			return false, nil
		}
		return true, r.element(k, v)
	case drop:
		return true, nil
	}
	return r.value(t, k, k.name, v, positional)
}

// value appends the result of a child whose action is descend, keep or slice for the value v; name is "" in an
// array. placed is false as in field.
func (r *run) value(t *tree, k *child, name string, v bson.Value, positional bool) (placed bool, err error) {
	switch {
	case positional && v.Type == bson.TypeArray:
		return true, r.position(t, k, bson.Raw(v.Data))
	case k.act == keep:
		r.dst.Value(name, v)
		return true, nil
	case k.act == slice:
		if r.nested > 0 {
			r.dst.Value(name, v)
		} else {
			r.cut(k, name, v)
		}
		return true, nil
	}
	switch v.Type {
	case bson.TypeDocument:
		r.dst.BeginDoc(name)
		err = r.fields(k.tree, bson.Raw(v.Data), positional)
		r.dst.End()
		return true, err
	case bson.TypeArray:
		r.dst.BeginArray(name)
		inside := 0
		if name == "" {
			inside = 1
		}
		r.nested += inside
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			if _, err := r.value(t, k, "", it.Value, false); err != nil {
				return true, err
			}
		}
		r.nested -= inside
		r.dst.End()
		return true, nil
	case bson.TypeMissing:
		return false, nil
	}
	switch {
	case k.tree.computes:
		if name != "" && t.kind == Inclusion {
			return false, nil
		}
		r.dst.BeginDoc(name)
		err = r.rest(k.tree, bson.Empty, &bits{})
		r.dst.End()
		return true, err
	case t.kind == Inclusion:
		return true, nil
	}
	r.dst.Value(name, v)
	return true, nil
}

// rest appends the fields that are added at the end of a document: computed fields that the document lacks, and in an
// inclusion all computed fields and those of $elemMatch.
func (r *run) rest(t *tree, doc bson.Raw, done *bits) error {
	for i := range t.children {
		k := &t.children[i]
		if done.has(i) {
			continue
		}
		switch {
		case k.act == compute:
			if err := r.computed(k); err != nil {
				return err
			}
		case k.act == descend && k.tree.computes:
			r.dst.BeginDoc(k.name)
			if err := r.rest(k.tree, bson.Empty, &bits{}); err != nil {
				return err
			}
			r.dst.End()
		case k.act == element && t.kind == Inclusion:
			if err := r.element(k, doc.Get(k.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// DocBytesMax is the largest size in bytes of a document between stages. The cursor enforces the usual limit for the
// documents that leave a pipeline.
// Manual: core/aggregation-pipeline-limits#result-size-restrictions.
const DocBytesMax = 128 << 20

// computed appends a computed field, the value of its expression; nothing if the value is missing. For an array on
// the path, it is called once per element.
//
// Errors: BSONObjectTooLarge, ExceededMemoryLimit, the errors of expressions, the reason why the command must end.
func (r *run) computed(k *child) error {
	if err := r.env.Tick(); err != nil {
		return err
	}
	if n := r.dst.Len(); n > DocBytesMax {
		return mongoerr.DocumentTooLarge(n, DocBytesMax)
	}
	mark := r.s.Mark()
	v, err := k.expr.Eval(r.env, r.root, r.s)
	if err == nil {
		err = r.s.CountExtra(r.env, r.dst.Len()+len(v.Data))
	}
	if err != nil {
		return err
	}
	r.dst.Value(k.name, v)
	r.s.Release(mark)
	return nil
}
