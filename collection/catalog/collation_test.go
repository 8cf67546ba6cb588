package catalog

import (
	"testing"

	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
)

// TestKeptCollation: what an earlier server has kept opens, with a locale that is refused in
// new collections and indexes, and orders as it did.
func TestKeptCollation(t *testing.T) {
	env := mql.NewEnv(t.Context())
	options, err := ejson.Parse(`{collation: {locale: "hsb", strength: 2}}`)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseOptions(env, options)
	if err != nil {
		t.Fatal(err)
	}
	if o.Collation.Locale() != "hsb" || o.Collation.CompareText([]byte("a"), []byte("B")) >= 0 || o.Collation.CompareText([]byte("a"), []byte("A")) != 0 {
		t.Error("the order is not that of the collection")
	}
	spec, err := ejson.Parse(`{v: 2, key: {s: 1}, name: "s", collation: {locale: "zh@collation=unihan"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index.KeptSpec(env, spec); err != nil {
		t.Error(err)
	}
	if _, err := index.ParseSpec(env, spec); err == nil {
		t.Error("a new index takes the collation")
	}
	ix, err := newIDIndex(env, o.CollationRaw)
	if err != nil || !ix.Collation.Equal(o.Collation) {
		t.Errorf("the index on _id has another collation: %v", err)
	}
}

// TestKeptVariant: a variant that its locale does not have any more orders as it did.
func TestKeptVariant(t *testing.T) {
	options, err := ejson.Parse(`{collation: {locale: "de_AT@collation=phonebook"}}`)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseOptions(mql.NewEnv(t.Context()), options)
	if err != nil || o.Collation.CompareText([]byte("ad"), []byte("ä")) >= 0 { // which is ae
		t.Errorf("%v, or the order is that of German", err)
	}
}
