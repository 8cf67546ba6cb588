package index

import (
	"github.com/cantledb/cantle/bson"
)

// Kind is a row of the table of index kinds.
type Kind struct {
	// Name is the value in the key pattern that selects the kind, "" for a plain index.
	Name string
	// Since is the first release of MongoDB that has the kind, such as "8.2"; "" if the kind is older than 3.6 or
	// not in the manual.
	Since string
	// Doc is the page of the manual.
	Doc string
	// Keys is the version of the kind's entries. It must be increased by a change that gives a document other
	// entries than before. The catalog stores the version of each index; when a server opens the store, it rebuilds
	// indexes of another version. Servers of two versions over one store would disagree about the entries, so
	// tikvkv.FormatVersion must be increased too. Entries of _id cannot change.
	Keys int32

	// check stores the options that only this kind has in the Spec, and rejects options and key patterns that do not
	// fit the kind; nil for the plain kind, for which there is nothing to check.
	check func(p *parser) error
	// layout sets the keystrings of entries; nil means one per field.
	layout func(s *Spec)
	// print appends the kind's options to the printed specification.
	print func(s *Spec, b *bson.Builder)
	// keys generates the index entries of a document that the partial filter includes.
	keys func(g *generator) error
	// plainText reports whether the i-th keystring of entries is a text to which the index's collation does not
	// apply, such as a path; nil means never.
	plainText func(s *Spec, i int) bool
}

// Kinds is the table of index kinds by name.
// Manual: core/indexes/index-types.
var Kinds = []Kind{
	kindPlain,
	kind2d,
	kind2dsphere,
	kindHashed,
	kindText,
	kindWildcard,
}

// kindOf returns the index kind that a string in a key pattern names, such as "hashed"; nil if there is none.
func kindOf(name string) *Kind {
	for i := range Kinds {
		if Kinds[i].Name == name {
			return &Kinds[i]
		}
	}
	return nil
}
