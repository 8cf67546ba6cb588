package index

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/order"
)

// kindWildcard is the index kind wildcard: a document has an entry of path and value for every leaf that the
// projection includes below a path. For an array, the leaves are its elements; for an empty array, undefined; for an
// empty document, the document itself. A name may be empty; paths do not contain array positions. A compound index
// also has plain fields, which cannot be arrays.
// Manual: core/indexes/index-types/index-wildcard.
var kindWildcard = Kind{
	Name: "wildcard",
	Doc:  "core/indexes/index-types/index-wildcard", Since: "4.2",
	check:     checkWildcard,
	layout:    layoutWildcard,
	keys:      wildcardKeys,
	plainText: func(s *Spec, i int) bool { return s.fields[i] == "$_path" },
}

// WildcardPath is the name of the keystring with the path.
const WildcardPath = "$_path"

func checkWildcard(p *parser) (err error) {
	s := p.s
	at := -1
	for i := range s.Parts {
		if s.Parts[i].Plugin == "wildcard" {
			if at >= 0 {
				return mongoerr.New(7246201, "wildcard indexes do not allow more than one wildcard field")
			}
			at = i
		}
	}
	switch {
	case s.Unique || s.PrepareUnique:
		return cannot("Index type 'wildcard' does not support the unique option")
	case s.Sparse:
		return cannot("Index type 'wildcard' does not support the sparse option")
	case s.HasTTL:
		return cannot("Index type 'wildcard' cannot be a TTL index")
	case p.version == 1:
		return cannot("Index type 'wildcard' does not support v:1")
	}
	w := &s.Parts[at]
	if doc, ok := p.projection.Doc(); ok {
		if w.Path.Len() > 0 {
			return mongoerr.New(mongoerr.FailedToParse,
				"The field 'wildcardProjection' is only allowed when 'key' is '{\"$**\": ±1}'")
		}
		if s.project, err = parseWildcardProjection(doc); err != nil {
			return err
		}
		s.WildcardProjection = doc
	}
	return checkCompoundWildcard(s, w)
}

// checkCompoundWildcard requires that the wildcard excludes the other fields.
func checkCompoundWildcard(s *Spec, w *Part) error {
	if len(s.Parts) == 1 {
		return nil
	}
	if w.Path.Len() == 0 && s.project == nil {
		return cannot("Compound wildcard indexes must have 'wildcardProjection' to exclude the regular fields: %s", s.Key)
	}
	for i := range s.Parts {
		f := &s.Parts[i]
		if f.Plugin == "wildcard" {
			continue
		}
		if w.Path.Len() > 0 && f.Path.Conflicts(w.Path) || w.Path.Len() == 0 && s.project.admits(f.Path) {
			return mongoerr.New(7246209, "wildcardProjection must exclude all regular fields of a compound wildcard index, but '%s' is not", f.Path)
		}
	}
	return nil
}

func layoutWildcard(s *Spec) {
	for i := range s.Parts {
		f := &s.Parts[i]
		if f.Plugin == "wildcard" {
			s.addKey(WildcardPath, 1)
			s.addKey(f.Name, f.Dir)
			continue
		}
		s.addKey(f.Name, f.Dir)
		s.paths = append(s.paths, f.Path)
	}
}

// wildcardWalk visits the leaves of a document.
type wildcardWalk struct {
	g       *generator
	others  [fieldsMax]bson.Value // values of the plain fields
	path    []byte
	found   bool
	array   bool // there is an array, or a path that does not identify a value
	names   [][]byte
	project *wildcardTree
}

func wildcardKeys(g *generator) error {
	w := wildcardWalk{g: g, project: g.s.project}
	for i, p := range g.s.paths {
		_, v := order.Descend(g.doc.Value(), p, 0)
		if v.Type == bson.TypeArray {
			return mongoerr.New(7246301, "The '%s' field of a compound wildcard index cannot be an array", p)
		}
		w.others[i] = v
	}
	if err := w.start(); err != nil {
		return err
	}
	if !w.found && len(g.s.Parts) > 1 {
		if err := w.add(bson.MinKey, bson.MinKey); err != nil {
			return err
		}
	}
	if w.array {
		g.arrays = make(MultikeyPaths, len(g.s.fields))
		for i, name := range g.s.fields {
			if isWildcard(name) {
				g.arrays[i] = FieldArrays{path.Must(name), 1}
			}
		}
	}
	return nil
}

// start finds the document or value at which the wildcard begins.
func (w *wildcardWalk) start() error {
	var prefix path.Path
	for i := range w.g.s.Parts {
		if w.g.s.Parts[i].Plugin == "wildcard" {
			prefix = w.g.s.Parts[i].Path
		}
	}
	if prefix.Len() == 0 {
		t := w.project
		if t == nil {
			t = everythingButID
		}
		return w.document(w.g.doc, t, true)
	}
	return w.below(w.g.doc.Value(), prefix, 0)
}

// below visits the values at the prefix, the path before "$**" of a wildcard field, from component i on. It follows
// the prefix also through arrays of documents.
func (w *wildcardWalk) below(v bson.Value, prefix path.Path, i int) error {
	if i == prefix.Len() {
		w.path = append(w.path[:0], prefix.String()...)
		return w.value(v, everything)
	}
	switch v.Type {
	case bson.TypeDocument:
		if v, ok := bson.Raw(v.Data).Lookup(prefix.Name(i)); ok {
			return w.below(v, prefix, i+1)
		}
	case bson.TypeArray:
		w.array = true
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			if it.Value.Type == bson.TypeDocument {
				if err := w.below(it.Value, prefix, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// document visits every field of d that the projection t includes. d is the whole document if top is set, else the
// value at w.path.
func (w *wildcardWalk) document(d bson.Raw, t *wildcardTree, top bool) error {
	n, names := len(w.path), len(w.names)
	for it := d.Iter(); it.Next(); {
		sub := t.child(string(it.Name))
		if sub == nil {
			continue
		}
		if !top {
			w.path = append(w.path[:n], '.')
		}
		// A field with a dot in its name has the entry of a field in an embedded document, which queries do not find
		// there.
		w.array = w.array || bytes.IndexByte(it.Name, '.') >= 0
		w.names = append(w.names, it.Name)
		w.path = append(w.path, it.Name...)
		if err := w.value(it.Value, sub); err != nil {
			return err
		}
		w.path = w.path[:n]
	}
	// Queries find the first of several fields with one name.
	w.array = w.array || repeats(w.names[names:])
	w.names = w.names[:names]
	return nil
}

// repeats reports whether a list of names, which it sorts, has one twice.
func repeats(names [][]byte) bool {
	slices.SortFunc(names, bytes.Compare)
	for i := 1; i < len(names); i++ {
		if bytes.Equal(names[i-1], names[i]) {
			return true
		}
	}
	return false
}

// value adds the entry of the leaf v at w.path, or visits the members of v if it is a document or an array.
func (w *wildcardWalk) value(v bson.Value, t *wildcardTree) error {
	switch {
	case v.Type == bson.TypeArray && !bson.Raw(v.Data).IsEmpty():
		w.array = true
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			var err error
			if e := it.Value; e.Type == bson.TypeDocument && !bson.Raw(e.Data).IsEmpty() {
				err = w.document(bson.Raw(e.Data), t, false)
			} else if t.leaf {
				err = w.leaf(e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case v.Type == bson.TypeDocument && !bson.Raw(v.Data).IsEmpty():
		return w.document(bson.Raw(v.Data), t, false)
	case !t.leaf:
		return nil // the projection includes only fields inside, which do not exist
	case v.Type == bson.TypeArray:
		w.array = true
		v = bson.Value{Type: bson.TypeUndefined}
	}
	return w.leaf(v)
}

func (w *wildcardWalk) leaf(v bson.Value) error {
	w.found = true
	return w.add(w.g.arena.StringBytes(w.path), v)
}

// add makes an entry.
func (w *wildcardWalk) add(at, v bson.Value) error {
	g, other := w.g, 0
	for i := range g.s.Parts {
		if g.s.Parts[i].Plugin == "wildcard" {
			g.value(at)
			g.value(v)
			continue
		}
		g.value(w.others[other])
		other++
	}
	return g.end()
}

// WildcardCovers reports whether a wildcard index has an entry of every value at the path p, and of all values below
// p. p must not contain positions.
func (s *Spec) WildcardCovers(p path.Path) (value, below bool) {
	t := s.project
	if t == nil {
		t = everythingButID
	}
	for i := range s.Parts {
		if w := &s.Parts[i]; w.Plugin == "wildcard" && w.Path.Len() > 0 {
			in := p.HasPrefix(w.Path)
			return in, in
		}
	}
	for i := range p.Len() {
		if p.Name(i) == "" {
			return false, false
		}
		if t = t.child(p.Name(i)); t == nil {
			return false, false
		}
	}
	return t.leaf, t.leaf && t.others && len(t.fields) == 0
}
