package index

import (
	"github.com/cantledb/cantle/bson"
)

// Kind is a row of the table of index kinds.
type Kind struct {
	// Name is the value in the key pattern that asks for the kind, "" for a plain
	// index of directions.
	Name string
	// Since is the first release of MongoDB that has it, such as "8.2"; "" if that is older
	// than 3.6 or the manual does not say.
	Since string
	// Doc is the page of the manual.
	Doc string
	// Keys is the version of what the entries of a document are. It rises with a change by which a document would get other
	// entries than before; the catalog has it of each index, and those of another version are made again when a
	// program opens the store. Servers of two versions over one store would not agree on them: where the entries change,
	// tikvkv.Level rises too. Entries of _id cannot change.
	Keys int32

	// check reads the kind's options and refuses others; nil needs nothing.
	check func(p *parser) error
	// layout sets the keystrings of entries, nil for one per field.
	layout func(s *Spec)
	// print appends the kind's options to the printed specification.
	print func(s *Spec, b *bson.Builder)
	// keys generates the entries of a document that passed the partial filter.
	keys func(g *generator) error
	// plainText reports that the i-th keystring of entries is a text that the
	// collation does not concern; nil for none.
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

// kindOf finds the kind of a name, nil if there is none.
func kindOf(name string) *Kind {
	for i := range Kinds {
		if Kinds[i].Name == name {
			return &Kinds[i]
		}
	}
	return nil
}
