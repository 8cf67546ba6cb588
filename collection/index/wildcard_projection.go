package index

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/order"
)

// wildcardTree is a node of a parsed wildcardProjection, the option that selects the fields of a wildcard index. It
// selects among the fields below the node's path; the zero node excludes everything.
type wildcardTree struct {
	// others includes fields that are not listed.
	others bool
	// leaf includes the value at the node itself.
	leaf   bool
	fields map[string]*wildcardTree
}

// The trees of indexes without a projection. Immutable.
var (
	everything      = &wildcardTree{others: true, leaf: true}
	everythingButID = &wildcardTree{others: true, leaf: true, fields: map[string]*wildcardTree{"_id": nil}}
)

// child returns the node for the field name below this node's path, nil if the projection excludes that field.
func (t *wildcardTree) child(name string) *wildcardTree {
	if sub, ok := t.fields[name]; ok {
		return sub
	}
	if t.others {
		return everything
	}
	return nil
}

// admits reports whether the index has entries of the value at p, or of something inside of it.
func (t *wildcardTree) admits(p path.Path) bool {
	for i := range p.Len() {
		if t = t.child(p.Name(i)); t == nil {
			return false
		}
	}
	return true
}

// parseWildcardProjection reads the option wildcardProjection: {a: 1, "b.c": 1} lists the indexed fields, {a: 0} the
// excluded ones. _id is excluded by default, and may be listed in both forms.
// Manual: reference/command/createIndexes (wildcardProjection).
//
// Errors: FailedToParse (empty), 31253 and 31254 (mixed), 31249 and 31250 (paths that collide), 51271 (values that
// are neither), the errors of order.CheckedPath.
func parseWildcardProjection(doc bson.Raw) (*wildcardTree, error) {
	if doc.IsEmpty() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "The 'wildcardProjection' field can't be an empty object")
	}
	p := wildcardProjection{ends: map[string]bool{}, inner: map[string]bool{}}
	if err := p.read("", doc); err != nil {
		return nil, err
	}
	include := p.mode == 1
	if p.mode == 0 { // only _id was listed
		include = p.id == 1
	}
	root := &wildcardTree{others: !include, leaf: true, fields: map[string]*wildcardTree{}}
	root.fields["_id"] = nil
	if p.id == 1 {
		root.fields["_id"] = everything
	}
	for _, at := range p.paths {
		root.set(at, include)
	}
	return root, nil
}

// set marks the end of a path as included or excluded.
func (t *wildcardTree) set(at path.Path, include bool) {
	for i := range at.Len() - 1 {
		sub := t.fields[at.Name(i)]
		if sub == nil {
			sub = &wildcardTree{others: !include, leaf: !include, fields: map[string]*wildcardTree{}}
			t.fields[at.Name(i)] = sub
		}
		t = sub
	}
	if include {
		t.fields[at.Last()] = everything
	} else {
		t.fields[at.Last()] = nil
	}
}

type wildcardProjection struct {
	mode  int // 1 inclusion, -1 exclusion, 0 undetermined
	id    int // the same, for _id
	paths []path.Path
	// ends holds the listed paths, and inner their prefixes, to find paths that collide: comparing each path with
	// each other takes long for 20,000 paths.
	ends, inner map[string]bool
}

func (p *wildcardProjection) read(prefix string, doc bson.Raw) error {
	for it := doc.Iter(); it.Next(); {
		name := prefix + string(it.Name)
		switch v := it.Value; {
		case v.Type == bson.TypeDocument && !bson.Raw(v.Data).IsEmpty() && strings.Count(name, ".") < bson.MaxDepth:
			if f, _ := bson.Raw(v.Data).First(); len(f.Name) > 0 && f.Name[0] == '$' {
				return computed(name)
			}
			if err := p.read(name+".", bson.Raw(v.Data)); err != nil {
				return err
			}
		case v.Type != bson.TypeBool && !v.IsNumber():
			return computed(name)
		default:
			if err := p.add(name, v.Truthy()); err != nil {
				return err
			}
		}
	}
	return nil
}

func computed(name string) error {
	return mongoerr.New(51271, "Bad projection specification, cannot use computed fields when parsing a spec in kBanComputedFields mode: %s", name)
}

func (p *wildcardProjection) add(name string, include bool) error {
	mode := -1
	if include {
		mode = 1
	}
	if name == "_id" {
		p.id = mode
		return nil
	}
	at, err := order.CheckedPath(name)
	if err != nil {
		return err
	}
	if p.inner[name] {
		return mongoerr.New(31250, "Path collision at %s", at)
	}
	depth := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			continue
		}
		if depth++; p.ends[name[:i]] {
			return mongoerr.New(31249, "Path collision at %s remaining portion %s", at, at.Suffix(depth))
		}
		if i < len(name) {
			p.inner[name[:i]] = true
		}
	}
	p.ends[name] = true
	switch {
	case p.mode == 0:
		p.mode = mode
	case p.mode == 1 && mode == -1:
		return mongoerr.New(31254, "Cannot do exclusion on field %s in inclusion projection", name)
	case p.mode == -1 && mode == 1:
		return mongoerr.New(31253, "Cannot do inclusion on field %s in exclusion projection", name)
	}
	p.paths = append(p.paths, at)
	return nil
}
