package update

import (
	"bytes"
	"slices"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Input holds Apply's arguments besides the document.
type Input struct {
	// Position is the array position that $ refers to, if HasPosition.
	Position    int
	HasPosition bool
	// Insert reports that an upsert inserts the document.
	Insert bool
}

// Result holds the result of Apply besides the new document.
type Result struct {
	// Modified is false if there is nothing to write: the new document equals the old one byte for byte. A
	// replacement is compared as the client wrote it: if its _id is missing, not the first field, or a number of
	// another type, the replacement counts as a change, is validated, and appears in change streams, even if the
	// result is the same. Observed: mongod 8.2.
	Modified bool
}

// Apply runs the update on the document doc and appends the fields of the new document to dst. In dst, only the
// outermost document may be open, and it must be empty. Apply does not change doc. For operators and replacements it
// allocates only dst and computed values, which are in s.
//
// Errors: ImmutableField (_id), PathNotViable, CannotBackfillArray, DollarPrefixedFieldName, BadValue, TypeMismatch,
// Overflow (nesting), 17419 (too large), ConflictingUpdateOperators ($[] and $[id] on the same element), the errors of
// filters and stages, the reason why the command must end.
func (p *Program) Apply(env *mql.Env, dst *bson.Builder, doc bson.Raw, in Input, s *expr.Scratch) (Result, error) {
	start := dst.Len()
	var err error
	switch {
	case p.root != nil:
		err = p.applyTree(env, dst, doc, in, s)
	case p.pipeline:
		err = p.applyPipeline(env, dst, doc, s)
	case p.diff != nil:
		err = p.applyDiff(dst, doc)
	default:
		err = p.applyReplacement(env, dst, doc)
	}
	if err != nil {
		return Result{}, err
	}
	fields := dst.Since(start)
	if n := len(fields) + 5; n > bson.MaxDocumentBytes {
		return Result{}, mongoerr.New(17419, "Resulting document after update is larger than %d", bson.MaxDocumentBytes)
	}
	if err := p.checkID(bson.Raw(dst.Since(start-4)), doc); err != nil {
		return Result{}, err
	}
	if p.replacement != nil {
		fields = p.replacement.Elements()
	}
	return Result{Modified: !bytes.Equal(fields, doc.Elements())}, nil
}

// checkID rejects an updated document whose _id differs from that of doc, as an _id never changes. updated is still
// open: it lacks its final byte, and its length is not set yet.
func (p *Program) checkID(updated, doc bson.Raw) error {
	if p.root != nil && p.root.child(step{name: "_id", index: -1}) == nil {
		return nil
	}
	old, ok := doc.Lookup("_id")
	if !ok {
		return nil
	}
	id := updated.Get("_id")
	if id.Identical(old) || bson.Equal(id, old, nil) {
		return nil
	}
	if p.root != nil {
		return mongoerr.New(mongoerr.ImmutableField, "Performing an update on the path '_id' would modify the immutable field '_id'")
	}
	return mongoerr.New(mongoerr.ImmutableField,
		"After applying the update, the (immutable) field '_id' was found to have been altered to _id: %s", id)
}

// applier is the working memory of one Apply.
type applier struct {
	p     *Program
	env   *mql.Env
	in    Input
	s     *expr.Scratch
	b     *bson.Builder
	doc   bson.Raw // the whole old document
	depth int      // of the document or array being written

	position []byte       // the array position that $ refers to, as a name
	wrapper  []byte       // for array filters
	name     []byte       // of an element being created
	values   []bson.Value // elements of the current array
	nodes    []*node
	build    bson.Builder // of computed arrays, in buf
	buf      []byte
}

var appliers = sync.Pool{New: func() any { return new(applier) }}

func (p *Program) applyTree(env *mql.Env, dst *bson.Builder, doc bson.Raw, in Input, s *expr.Scratch) error {
	a := appliers.Get().(*applier)
	a.p, a.env, a.in, a.s, a.b, a.doc, a.depth = p, env, in, s, dst, doc, 1
	err := a.start()
	clear(a.values[:cap(a.values)])
	clear(a.nodes[:cap(a.nodes)])
	a.p, a.env, a.s, a.b, a.doc = nil, nil, nil, nil, nil
	if cap(a.buf)+cap(a.wrapper) < 1<<20 {
		appliers.Put(a)
	}
	return err
}

func (a *applier) start() error {
	if a.p.positional {
		if !a.in.HasPosition {
			return mongoerr.New(mongoerr.BadValue, "The positional operator did not find the match needed from the query.")
		}
		a.position = appendIndex(a.position[:0], a.in.Position)
	}
	return a.document(a.p.root, a.doc)
}

// document writes the fields of doc, changed by the actions at and below the node n, and then the fields that n
// creates.
func (a *applier) document(n *node, doc bson.Raw) error {
	var small [4]uint64
	done := bitset(small[:])
	if len(n.children) > 64*len(small) {
		done = make(bitset, len(n.children)/64+1)
	}
	run, left := 4, len(n.children) // run: start of the bytes that are not copied yet
	for it := doc.Iter(); left > 0; {
		at := it.Offset(doc)
		if !it.Next() {
			break
		}
		i, err := a.lookup(n, it.Name)
		if err != nil {
			return err
		}
		if i < 0 || done.has(i) {
			continue
		}
		done.add(i)
		left--
		a.b.Splice(doc[run:at])
		run = it.Offset(doc)
		before := a.b.Len()
		if err := a.field(n.children[i], it.Name, it.Value, false); err != nil {
			return err
		}
		if written := a.b.Since(before); len(written) > 0 && a.isDollar(it.Name[0]) && !bytes.Equal(written, doc[at:run]) {
			return dollarField(string(it.Name))
		}
	}
	a.b.Splice(doc[run : len(doc)-1])
	if left == 0 {
		return nil
	}
	for i, c := range n.children {
		if done.has(i) {
			continue
		}
		name := append(a.name[:0], c.name...)
		if c.kind == positional {
			name = append(name[:0], a.position...)
		}
		a.name = name
		before := a.b.Len()
		if err := a.create(c, name); err != nil {
			return err
		}
		if a.b.Len() > before && a.isDollar(c.name[0]) {
			return dollarField(c.name)
		}
	}
	return nil
}

// isDollar reports whether an update may not create a field, given the first byte of the field's name: the name
// begins with a dollar sign, and the field is in the outermost document. An insert by an upsert may create such a
// field.
// Manual: core/dot-dollar-considerations.
func (a *applier) isDollar(first byte) bool {
	return a.depth == 1 && !a.in.Insert && first == '$'
}

// lookup returns the index of the child of n for the document field name, -1 if no action concerns the field.
func (a *applier) lookup(n *node, name []byte) (int, error) {
	if n.byName != nil {
		if i, ok := n.byName[string(name)]; ok {
			return i, nil
		}
		if !a.p.positional {
			return -1, nil
		}
	}
	for i, c := range n.children {
		switch {
		case c.kind == named && n.byName == nil && c.name == string(name):
			return i, nil
		case c.kind == positional && bytes.Equal(a.position, name):
			if n.child(step{name: string(name)}) != nil {
				return -1, mongoerr.New(mongoerr.ConflictingUpdateOperators, "Update created a conflict at '%s'", c.path)
			}
			return i, nil
		}
	}
	return -1, nil
}

// field writes one existing field or array element with the changes that the node n makes to it.
func (a *applier) field(n *node, name []byte, v bson.Value, inArray bool) error {
	if n.do != nil {
		return a.leaf(n, name, v, inArray)
	}
	if n.can&onInsert != 0 && !a.in.Insert {
		a.b.ValueBytes(name, v)
		return nil
	}
	switch {
	case v.Type == bson.TypeArray:
		a.b.BeginNamedArray(name)
		a.depth++
		var err error
		if n.arrays {
			err = a.elements(n, bson.Raw(v.Data))
		} else {
			err = a.positions(n, name, v)
		}
		a.depth--
		a.b.End()
		return err
	case n.arrays:
		return mongoerr.New(mongoerr.BadValue, "Cannot apply array updates to non-array element %s: %s", name, v)
	case v.Type == bson.TypeDocument:
		a.b.BeginDocBytes(name)
		a.depth++
		err := a.document(n, bson.Raw(v.Data))
		a.depth--
		a.b.End()
		return err
	case a.idle(n):
		a.b.ValueBytes(name, v)
		return nil
	}
	return a.notViable(n, name, v)
}

// idle reports whether no action at or below n would have an effect. Then a path that leads through a scalar is no
// error.
func (a *applier) idle(n *node) bool {
	if n.can&tolerant != 0 || n.can&onInsert != 0 && !a.in.Insert {
		return true
	}
	if n.do != nil {
		c, ok := n.do.(conditional)
		return ok && c.idle(a)
	}
	return !slices.ContainsFunc(n.children, func(c *node) bool { return !a.idle(c) })
}

// notViable returns the error for an update whose path leads through v, a value that has no fields.
func (a *applier) notViable(n *node, name []byte, v bson.Value) error {
	for _, c := range n.children {
		if !a.idle(c) && c.can&creates != 0 {
			return mongoerr.New(mongoerr.PathNotViable, "Cannot create field '%s' in element {%s: %s}", c.name, name, shown(v))
		}
	}
	return mongoerr.New(mongoerr.PathNotViable, "Cannot use the path '%s' in element {%s: %s}", n.path, name, shown(v))
}

// leaf writes a value as changed by the action at n.
func (a *applier) leaf(n *node, name []byte, old bson.Value, inArray bool) error {
	if n.can&onInsert != 0 && !a.in.Insert {
		a.b.ValueBytes(name, old)
		return nil
	}
	v, what, err := n.do.apply(a, n, old)
	if err != nil {
		return err
	}
	switch what {
	case keep:
		a.b.ValueBytes(name, old)
	case set:
		if err := a.checkDepth(v); err != nil {
			return err
		}
		a.b.ValueBytes(name, v)
	case remove:
		if inArray {
			a.b.ValueBytes(name, bson.Null)
		}
	}
	return nil
}

// create writes the field name, which the document lacks, if an action at or below n creates it. name may alias
// a.name.
func (a *applier) create(n *node, name []byte) error {
	if n.can&onInsert != 0 && !a.in.Insert {
		return nil
	}
	if n.do != nil {
		v, what, err := n.do.apply(a, n, bson.Value{})
		if err != nil || what != set {
			return err
		}
		if err := a.checkDepth(v); err != nil {
			return err
		}
		a.b.ValueBytes(name, v)
		return nil
	}
	if n.arrays {
		return mongoerr.New(mongoerr.BadValue, "The path '%s' must exist in the document in order to apply array updates.", n.path)
	}
	if n.can&creates == 0 && n.can&tolerant != 0 {
		return nil
	}
	mark := a.b.Mark()
	a.b.BeginDocBytes(name)
	a.depth++
	if a.depth > bson.MaxDepth {
		return tooDeep()
	}
	empty := a.b.Len()
	for _, c := range n.children {
		child := append(a.name[:0], c.name...)
		if c.kind == positional {
			child = append(child[:0], a.position...)
		}
		a.name = child
		if err := a.create(c, child); err != nil {
			return err
		}
	}
	a.depth--
	if a.b.Len() == empty {
		a.b.Cut(mark)
		return nil
	}
	a.b.End()
	return nil
}

// checkDepth limits the nesting of the result.
func (a *applier) checkDepth(v bson.Value) error {
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		return nil
	}
	if a.depth+bson.Raw(v.Data).Depth() > bson.MaxDepth {
		return tooDeep()
	}
	return nil
}

func dollarField(name string) error {
	return mongoerr.New(mongoerr.DollarPrefixedFieldName,
		"The dollar ($) prefixed field '%s' in '%s' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.", name, name)
}

func tooDeep() error {
	return mongoerr.New(mongoerr.Overflow, "Document exceeds maximum nesting depth of %d", bson.MaxDepth)
}

// bitset marks the children that have been applied.
type bitset []uint64

func (s bitset) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s bitset) add(i int)      { s[i>>6] |= 1 << (i & 63) }

// shown returns a shortened value for a message.
func shown(v bson.Value) string {
	s := v.String()
	if len(s) > 150 {
		s = s[:150] + "..."
	}
	return s
}
