package index

import (
	"math"
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// SpecsMax limits the index specifications of one createIndexes; the limit of indexes of a collection is lower.
const SpecsMax = 1000

// Part is one field of a key pattern.
type Part struct {
	// Name as in the pattern: "a.b", "$**", "a.$**", "_fts".
	Name string
	// Path is the path of the indexed values; for a wildcard field the path before "$**", zero for all fields.
	Path path.Path
	Dir  keystring.Dir
	// Plugin is the string in the key pattern ("hashed"), "wildcard" for a wildcard field, and "" for a field with a
	// direction.
	Plugin string
}

// Spec is a validated index specification. Immutable, safe for concurrent use;
// With makes changed copies.
type Spec struct {
	Name string
	Key  bson.Raw // the key pattern as listIndexes prints it
	// Version is the index version, 1 or 2, that listIndexes prints; it has no effect on entries.
	Version int32
	// Held is an upper bound of the memory in bytes that the specification occupies.
	Held  int64
	Parts []Part
	Kind  *Kind

	Unique        bool
	Sparse        bool
	Hidden        bool
	PrepareUnique bool
	Clustered     bool

	// HasTTL reports that ExpireAfterSeconds was given.
	HasTTL             bool
	ExpireAfterSeconds int64

	// LastWrite is set for a TTL index whose documents expire after their last write, or by their own ttl. Its
	// entries hold times that are not fields, so queries cannot use them. If only the own ttl counts,
	// ExpireAfterSeconds is -1.
	// Source: Azure Cosmos DB for MongoDB, "time-to-live".
	LastWrite bool

	// Partial is the parsed PartialFilter; nil indexes every document.
	Partial       match.Node
	PartialFilter bson.Raw

	Collation *mql.Collation // nil: byte order

	// WildcardProjection as given; nil if there is none.
	WildcardProjection bson.Raw

	// Text, Sphere and Flat hold the options of text, 2dsphere and 2d indexes; each is nil for other indexes.
	Text   *TextOptions
	Sphere *SphereOptions
	Flat   *FlatOptions

	paths  []path.Path     // of the parts that have one
	dirs   []keystring.Dir // for each keystring of an entry
	fields []string        // names of the keystrings of an entry
	about  int             // see About
	touch  []path.Path     // paths on which entries depend, up to positions
	// touchAll reports that entries may depend on any field.
	touchAll bool
	project  *wildcardTree
	print    bson.Raw // the whole specification as listIndexes prints it
}

// Append writes the fields of the index specification into an open document, in the form and order of listIndexes:
// v, key, name, then the options in the client's order, with defaults filled in. ParseSpec reads it back.
func (s *Spec) Append(b *bson.Builder) { b.Splice(s.print.Elements()) }

// Raw returns the specification as Append writes it.
func (s *Spec) Raw() bson.Raw { return s.print }

// IsID reports whether the index is on {_id: 1}.
func (s *Spec) IsID() bool { return isIDPattern(s.Key) }

// IsOrdered reports whether the index is plain: unless LastWrite is set, its entries hold the fields' own values in
// their order, so that it can answer ranges and sorts.
func (s *Spec) IsOrdered() bool { return s.Kind.Name == "" }

// Fields returns the names of the keystrings of an index entry in order: the fields of the key pattern, and "$_path"
// before the value of a wildcard field.
func (s *Spec) Fields() []string { return s.fields }

// Dirs returns the directions, ascending or descending, of the keystrings of an index entry in order.
func (s *Spec) Dirs() []keystring.Dir { return s.dirs }

// Width returns the number of keystrings of an entry.
func (s *Spec) Width() int { return len(s.dirs) }

// About returns the number of document fields that an index entry is about, by which the RU of the entry are
// computed: a path and its value (wildcard), or a term and its weight (text), count as one.
func (s *Spec) About() int { return s.about }

// Touched reports whether a change of a document's value at the path p can change the document's index entries.
func (s *Spec) Touched(p path.Path) bool {
	if s.touchAll {
		return true
	}
	for _, q := range s.touch {
		if p.Conflicts(q) {
			return true
		}
	}
	// A position in the path can select any element that the index's paths reach, and vice versa.
	return p.HasPosition() && s.Touched(p.Prefix(p.FirstPosition()))
}

// Bound appends to dst the keystring of v as the i-th of an index entry, for the bounds of a scan. v is the value in
// the index: for a hashed field, the hash.
func (s *Spec) Bound(dst []byte, i int, v bson.Value) []byte {
	return keystring.Append(dst, v, s.dirs[i], s.order(i), nil)
}

// order returns the string order of the i-th keystring of entries. Paths of wildcard entries and terms of text
// entries are compared as bytes under any collation.
func (s *Spec) order(i int) bson.StringOrder {
	if s.Collation == nil || s.Kind.plainText != nil && s.Kind.plainText(s, i) {
		return nil
	}
	return s.Collation
}

// With returns the specification with one option replaced, or removed if v is missing. collMod changes indexes with
// it.
//
// Errors: the errors of ParseSpec.
func (s *Spec) With(env *mql.Env, option string, v bson.Value) (*Spec, error) {
	b, found := bson.NewBuilder(nil), false
	for it := s.print.Iter(); it.Next(); {
		if string(it.Name) == option {
			found = true
			b.Value(option, v)
			continue
		}
		b.ValueBytes(it.Name, it.Value)
	}
	if !found {
		b.Value(option, v)
	}
	return ParseStoredSpec(env, b.Doc(), s.Collation.Version())
}

// Conflict compares the requested index s with an existing one of the collection. same reports that it is the same
// index, so that there is nothing to do. An error reports that both cannot exist.
// Manual: reference/command/createIndexes#behaviors.
//
// Errors: IndexOptionsConflict, IndexKeySpecsConflict.
func (s *Spec) Conflict(existing *Spec) (same bool, err error) {
	sameSignature := s.sameSignature(existing)
	if s.Name == existing.Name {
		if !sameSignature {
			return false, mongoerr.New(mongoerr.IndexKeySpecsConflict,
				"An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: %s, existing index: %s",
				s.print, existing.print)
		}
		if !s.sameOptions(existing) {
			return false, mongoerr.New(mongoerr.IndexOptionsConflict,
				"An equivalent index already exists with the same name but different options. Requested index: %s, existing index: %s",
				s.print, existing.print)
		}
		return true, nil
	}
	switch {
	case sameSignature && s.sameOptions(existing):
		return false, mongoerr.New(mongoerr.IndexOptionsConflict, "Index already exists with a different name: %s", existing.Name)
	case sameSignature:
		return false, mongoerr.New(mongoerr.IndexOptionsConflict,
			"An equivalent index already exists with a different name and options. Requested index: %s, existing index: %s",
			s.print, existing.print)
	case s.Text != nil && existing.Text != nil:
		return false, mongoerr.New(mongoerr.IndexOptionsConflict, "only one text index per collection allowed, found existing text index \"%s\"", existing.Name)
	}
	return false, nil
}

// sameSignature reports whether two indexes hold the same entries by the same rules, so that only one of them may
// exist in a collection.
func (s *Spec) sameSignature(o *Spec) bool {
	return equalDocs(s.Key, o.Key) && s.Collation.Equal(o.Collation) && s.Unique == o.Unique && s.Sparse == o.Sparse &&
		equalFilters(s.Partial, o.Partial) && equalDocs(s.WildcardProjection, o.WildcardProjection)
}

// sameOptions reports whether those options of two indexes are equal that sameSignature does not compare. Versions
// are ignored, because a restored collection keeps old ones.
func (s *Spec) sameOptions(o *Spec) bool {
	return s.Hidden == o.Hidden && s.HasTTL == o.HasTTL && s.LastWrite == o.LastWrite && s.ends() == o.ends() &&
		s.PrepareUnique == o.PrepareUnique && s.Text.equal(o.Text) && s.Flat.equal(o.Flat)
}

// equalFilters reports whether two partial filters are equal after normalization, even if written differently.
func equalFilters(a, b match.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return match.Same(match.Normalize(a), match.Normalize(b))
}

func equalDocs(a, b bson.Raw) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return bson.Equal(a.Value(), b.Value(), nil)
}

// DefaultName returns the name that drivers give an index with this key: the name and direction of each field,
// joined by underscores, such as a_1_b_-1.
func DefaultName(key bson.Raw) string {
	var name []byte
	for it := key.Iter(); it.Next(); {
		if len(name) > 0 {
			name = append(name, '_')
		}
		name = append(append(name, it.Name...), '_')
		switch text, isText := it.Value.Text(); {
		case isText:
			name = append(name, text...)
		default:
			if n, ok := it.Value.AsInt64(); ok {
				name = strconv.AppendInt(name, n, 10)
			} else if f, ok := it.Value.AsFloat(); ok && !math.IsNaN(f) {
				name = strconv.AppendFloat(name, f, 'g', -1, 64)
			}
		}
	}
	return string(name)
}
