package catalog

import (
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
)

// TestKeptCollation: a collation with a locale that is no longer supported, stored by an earlier server in options or
// in an index, still parses, although a new index with such a locale is rejected. That of the options still orders
// strings.
func TestKeptCollation(t *testing.T) {
	env := mql.NewEnv(t.Context())
	options := bsontest.Doc(t, `{collation: {locale: "hsb", strength: 2}}`)
	o, err := ParseOptions(env, options, mql.FirstCollator)
	if err != nil {
		t.Fatal(err)
	}
	if o.Collation.Locale() != "hsb" || o.Collation.CompareText([]byte("a"), []byte("B")) >= 0 || o.Collation.CompareText([]byte("a"), []byte("A")) != 0 {
		t.Error("the order is not that of the collection")
	}
	spec := bsontest.Doc(t, `{v: 2, key: {s: 1}, name: "s", collation: {locale: "zh@collation=unihan"}}`)
	if _, err := index.ParseStoredSpec(env, spec, mql.FirstCollator); err != nil {
		t.Error(err)
	}
	if _, err := index.ParseSpec(env, spec); err == nil {
		t.Error("a new index takes the collation")
	}
	ix, err := newIDIndex(env, o.CollationRaw, mql.FirstCollator)
	if err != nil || !ix.Collation.Equal(o.Collation) {
		t.Errorf("the index on _id has another collation: %v", err)
	}
}

// TestKeptVariant: a variant that its locale no longer has orders as before.
func TestKeptVariant(t *testing.T) {
	options := bsontest.Doc(t, `{collation: {locale: "de_AT@collation=phonebook"}}`)
	o, err := ParseOptions(mql.NewEnv(t.Context()), options, mql.FirstCollator)
	if err != nil || o.Collation.CompareText([]byte("ad"), []byte("ä")) >= 0 { // which is ae
		t.Errorf("%v, or the order is that of German", err)
	}
}

// TestCollatorVersion: the collations of a stored catalog entry keep the version of the rules by which its index keys
// were made. They are equal to the same collation of a command, unless a later version orders some strings otherwise.
func TestCollatorVersion(t *testing.T) {
	env := mql.NewEnv(t.Context())
	for _, c := range []struct {
		collation   string
		changed     mql.CollatorVersion // the first version that orders as the newest
		first, then string              // first sorts before then in the first version, and after it in the newest
	}{
		{`{locale: "nb"}`, mql.SecondCollator, "å", "z"},
		{`{locale: "bs"}`, mql.SecondCollator, "dž", "dza"},
		{`{locale: "en", strength: 1, caseLevel: true, caseFirst: "upper"}`, mql.SecondCollator, "a", "A"},
		{`{locale: "en", strength: 2}`, mql.FirstCollator, "", ""},
		{`{locale: "de@collation=phonebook"}`, mql.FirstCollator, "", ""},
		{`{locale: "ru"}`, mql.NewestCollator, "z", "д"},
		{`{locale: "da"}`, mql.NewestCollator, "æb", "Æb"},
		{`{locale: "haw"}`, mql.NewestCollator, "h", "b"},
	} {
		options := bsontest.Doc(t, `{collation: `+c.collation+`}`)
		command, err := mql.ParseCollation(options.Get("collation"))
		if err != nil {
			t.Fatal(err)
		}
		for by := mql.FirstCollator; by <= mql.NewestCollator; by++ {
			o, err := ParseOptions(env, options, by)
			if err != nil {
				t.Fatal(err)
			}
			ix, err := newIDIndex(env, o.CollationRaw, by)
			if err != nil {
				t.Fatal(err)
			}
			stored := &Collection{Options: o, Indexes: []*Index{ix}}
			back, err := decodeCollection(env, encodeCollection(stored))
			if err != nil {
				t.Fatal(err)
			}
			old := by < c.changed
			for _, kept := range []*mql.Collation{back.Options.Collation, back.Indexes[0].Collation} {
				if kept.Equal(command) == old {
					t.Errorf("%s by version %d: equal to a command's is %v", c.collation, by, !old)
				}
				if c.first != "" && (kept.CompareText([]byte(c.first), []byte(c.then)) < 0) != old {
					t.Errorf("%s by version %d: another order than its keys", c.collation, by)
				}
			}
		}
	}
}
