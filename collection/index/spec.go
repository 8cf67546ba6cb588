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

// SpecsMax bounds the specifications of one createIndexes; the collection's own limit is
// lower.
const SpecsMax = 1000

// Part is one field of a key pattern.
type Part struct {
	// Name as in the pattern: "a.b", "$**", "a.$**", "_fts".
	Name string
	// Path of the values; for a wildcard the path before "$**", zero for all.
	Path path.Path
	Dir  keystring.Dir
	// Plugin is the string in the pattern ("hashed"), "" for a direction, and
	// "wildcard" for a wildcard field.
	Plugin string
}

// Spec is a validated index specification. Immutable, safe for concurrent use;
// With makes changed copies.
type Spec struct {
	Name string
	Key  bson.Raw // the key pattern as listIndexes prints it
	// Version is what the index shows as its version, 1 or 2: both are alike.
	Version int32
	// Held is how many bytes of memory the specification is counted for.
	Held  int64
	Parts []Part
	Kind  *Kind

	Unique        bool
	Sparse        bool
	Hidden        bool
	PrepareUnique bool
	Clustered     bool

	// HasTTL says that ExpireAfterSeconds was given.
	HasTTL             bool
	ExpireAfterSeconds int64

	// LastWrite says that documents expire after their last write, or by their own
	// ttl: entries hold times that no field has, so that queries cannot use them.
	// ExpireAfterSeconds is then -1 where only the own ttl counts.
	// Source: Azure Cosmos DB for MongoDB, "time-to-live".
	LastWrite bool

	// Partial is the parsed PartialFilter; nil indexes every document.
	Partial       match.Node
	PartialFilter bson.Raw

	Collation *mql.Collation // nil: byte order

	// WildcardProjection as given; nil if there is none.
	WildcardProjection bson.Raw

	// Text, Sphere and Flat hold the options of text, 2dsphere and 2d indexes.
	Text   *TextOptions
	Sphere *SphereOptions
	Flat   *FlatOptions

	paths  []path.Path     // of the parts that have one
	dirs   []keystring.Dir // of each keystring of an entry
	fields []string        // name of each keystring of an entry
	about  int             // see About
	touch  []path.Path     // what entries depend on, up to positions
	// touchAll says that any field can count.
	touchAll bool
	project  *wildcardTree
	print    bson.Raw // the whole specification as listIndexes prints it
}

// Append writes the fields of the specification into an open document, in the
// shape and order listIndexes uses: v, key, name, then the options as given.
// ParseSpec reads it back.
func (s *Spec) Append(b *bson.Builder) { b.Splice(s.print.Elements()) }

// Raw is the specification as Append writes it.
func (s *Spec) Raw() bson.Raw { return s.print }

// IsID reports the index on {_id: 1}.
func (s *Spec) IsID() bool { return isIDPattern(s.Key) }

// IsOrdered reports a plain index, whose entries hold the fields' own values in
// their order: one that can serve ranges and sorts.
func (s *Spec) IsOrdered() bool { return s.Kind.Name == "" }

// Fields names the keystrings of an entry in order: the fields of the key
// pattern, and "$_path" before the values of a wildcard field.
func (s *Spec) Fields() []string { return s.fields }

// Dirs are the directions of the keystrings of an entry in order.
func (s *Spec) Dirs() []keystring.Dir { return s.dirs }

// Width is how many keystrings an entry has.
func (s *Spec) Width() int { return len(s.dirs) }

// About returns the number of document fields in an entry, by which it is priced: a path and its
// value (wildcard) and a term and its weight (text) are one.
func (s *Spec) About() int { return s.about }

// Touched reports whether a change of the value at p can change the entries of a
// document; a change elsewhere leaves them as they are.
func (s *Spec) Touched(p path.Path) bool {
	if s.touchAll {
		return true
	}
	for _, q := range s.touch {
		if p.Conflicts(q) {
			return true
		}
	}
	// A position on the way can stand for any element, and the other way round.
	return p.HasPosition() && s.Touched(p.Prefix(p.FirstPosition()))
}

// Bound appends the encoding of v as the i-th keystring of an entry, for the
// bounds of a scan. v is the value in the index: for a hashed field its hash.
func (s *Spec) Bound(dst []byte, i int, v bson.Value) []byte {
	return keystring.Append(dst, v, s.dirs[i], s.order(i), nil)
}

// order is the string order of the i-th keystring: paths of wildcard entries
// and terms of text entries are compared as bytes whatever the collation.
func (s *Spec) order(i int) bson.StringOrder {
	if s.Collation == nil || s.Kind.plainText != nil && s.Kind.plainText(s, i) {
		return nil
	}
	return s.Collation
}

// With returns the specification with one option replaced, or removed by a
// missing value: what collMod does.
//
// Errors: as ParseSpec.
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
	return KeptSpec(env, b.Doc(), s.Collation.Version())
}

// Conflict compares a requested index with an existing one. same reports that
// it exists already and nothing is to be done; the error that both cannot be.
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

// sameSignature reports that the indexes hold the same entries by the same
// rules, so that only one of them may exist.
func (s *Spec) sameSignature(o *Spec) bool {
	return equalDocs(s.Key, o.Key) && s.Collation.Equal(o.Collation) && s.Unique == o.Unique && s.Sparse == o.Sparse &&
		equalFilters(s.Partial, o.Partial) && equalDocs(s.WildcardProjection, o.WildcardProjection)
}

// sameOptions compares what is not part of the signature. Versions do not count: a
// collection that was restored keeps those of another time.
func (s *Spec) sameOptions(o *Spec) bool {
	return s.Hidden == o.Hidden && s.HasTTL == o.HasTTL && s.LastWrite == o.LastWrite && s.ends() == o.ends() &&
		s.PrepareUnique == o.PrepareUnique && s.Text.equal(o.Text) && s.Flat.equal(o.Flat)
}

// equalFilters reports that two partial filters mean the same, however they are written.
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

// DefaultName is the name drivers give an index: field and direction of each
// field, joined by underscores.
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
