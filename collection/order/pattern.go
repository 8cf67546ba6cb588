package order

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
)

// Part is one field of a sort pattern: a path and its direction, or metadata.
type Part struct {
	Path path.Path
	Dir  keystring.Dir
	// Name is the field name as the client wrote it; it has no meaning for metadata.
	Name string
	// Meta is the name in {$meta: …} ("textScore"), "" for an ordinary field.
	Meta string
}

// Pattern is a parsed sort pattern. Immutable, safe for concurrent use; the
// zero Pattern sorts nothing.
type Pattern struct {
	Parts []Part
	paths []path.Path // of the parts that are not metadata
}

// Names reports whether one of the parts is this path.
func (p Pattern) Names(field string) bool {
	return slices.ContainsFunc(p.paths, func(at path.Path) bool { return at.String() == field })
}

// IsEmpty reports whether the pattern has no parts.
func (p Pattern) IsEmpty() bool { return len(p.Parts) == 0 }

// Append writes the sort pattern as a document, {a: 1, b: -1}, under the field name.
func (p Pattern) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	p.AppendFields(b)
	b.End()
}

// AppendFields writes the fields of the pattern into an open document.
func (p Pattern) AppendFields(b *bson.Builder) {
	for i := range p.Parts {
		part := &p.Parts[i]
		if part.Meta != "" {
			b.BeginDoc(part.Name)
			b.String("$meta", part.Meta)
			b.End()
			continue
		}
		b.Int32(part.Name, int32(part.Dir))
	}
}

// Reverse returns the pattern with every direction reversed.
func (p Pattern) Reverse() Pattern {
	r := Pattern{append([]Part(nil), p.Parts...), p.paths}
	for i := range r.Parts {
		r.Parts[i].Dir = -r.Parts[i].Dir
	}
	return r
}

// Equal reports whether both have the same paths and directions.
func (p Pattern) Equal(q Pattern) bool { return len(p.Parts) == len(q.Parts) && p.IsPrefixOf(q) }

// IsPrefixOf reports whether the sort pattern q begins with p, so that documents sorted by q are also sorted by p.
func (p Pattern) IsPrefixOf(q Pattern) bool {
	if len(p.Parts) > len(q.Parts) {
		return false
	}
	for i := range p.Parts {
		a, b := &p.Parts[i], &q.Parts[i]
		if a.Dir != b.Dir || a.Meta != b.Meta || a.Meta == "" && !a.Path.Equal(b.Path) {
			return false
		}
	}
	return true
}

// Paths calls add with the paths of the keys, in order.
func (p Pattern) Paths(add func(path.Path)) {
	for _, q := range p.paths {
		add(q)
	}
}

// HasMeta reports whether a part sorts by metadata.
func (p Pattern) HasMeta() bool {
	for i := range p.Parts {
		if p.Parts[i].Meta != "" {
			return true
		}
	}
	return false
}
