package arguments

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/wire"
)

// of returns a reader of a command's document.
func of(tb testing.TB, text string) *Reader {
	d := bsontest.Doc(tb, text)
	first, _ := d.First()
	return &Reader{Command: string(first.Name), Body: d, Msg: &wire.Message{Body: d}}
}

// TestEach checks that Each passes only the command's own arguments, null as a missing value, and refuses unknown
// arguments.
func TestEach(t *testing.T) {
	for text, want := range map[string]string{
		`{find: "c", limit: 1, lsid: {}, $db: "test", skip: null}`: "limit=1 skip=missing",
		`{find: "c"}`:                     "",
		`{find: "c", limit: 1, other: 2}`: "limit=1 (IDLUnknownField) BSON field 'find.other' is an unknown field.",
	} {
		var got []string
		err := of(t, text).Each(func(name string, v bson.Value) (bool, error) {
			if name == "other" {
				return false, nil
			}
			value := "missing"
			if !v.IsMissing() {
				value = v.String()
			}
			got = append(got, name+"="+value)
			return true, nil
		})
		if err != nil {
			got = append(got, err.Error())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %s, want %s", text, s, want)
		}
	}
}

// TestAllocsEach: reading arguments that drivers send often allocates nothing.
func TestAllocsEach(t *testing.T) {
	r := of(t, `{find: "c", filter: {a: 1}, limit: 1, batchSize: 2.0, singleBatch: true, lsid: {}}`)
	var limit int64
	if n := testing.AllocsPerRun(100, func() {
		err := r.Each(func(name string, v bson.Value) (known bool, err error) {
			switch name {
			case "filter":
				_, err = r.DocArg(name, v)
			case "limit", "batchSize":
				limit, err = r.LongArg(name, v)
			case "singleBatch":
				_, err = r.BoolArg(name, v)
			}
			return true, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if limit != 2 {
		t.Errorf("the last number is %d, want 2", limit)
	}
}

// TestDocs checks the errors of a required argument that must be an array of documents with a maximum length.
func TestDocs(t *testing.T) {
	for text, want := range map[string]string{
		`{insert: "c", documents: [{a: 1}, {a: 2}]}`: "",
		`{insert: "c"}`:                          "(IDLFailedToParse) BSON field 'insert.documents' is missing but a required field",
		`{insert: "c", documents: 1}`:            "(TypeMismatch) BSON field 'insert.documents' is the wrong type 'int', expected type 'array'",
		`{insert: "c", documents: [{}, "a"]}`:    "(TypeMismatch) BSON field 'insert.documents.1' is the wrong type 'string', expected type 'object'",
		`{insert: "c", documents: [{}, {}, {}]}`: "(InvalidLength) Write batch sizes must be between 1 and 2. Got 3 operations.",
	} {
		docs, err := of(t, text).Docs("documents", 2)
		if err == nil {
			if len(docs) != 2 {
				t.Errorf("%s: %d documents, want 2", text, len(docs))
			}
			if want != "" {
				t.Errorf("%s: no error, want %s", text, want)
			}
		} else if err.Error() != want {
			t.Errorf("%s: got %s, want %s", text, err, want)
		}
	}
}
