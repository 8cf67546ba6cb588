package write_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

func TestPrepare(t *testing.T) {
	store := memkv.Open(memkv.Options{Clock: func() time.Time { return time.Unix(7, 0) }})
	defer store.Close()
	for range 2 {
		txn, err := store.Begin(t.Context(), storage.TxnOptions{})
		bsontest.Must(t, err)
		bsontest.Must(t, txn.Set([]byte("k"), []byte("v")))
		_, err = txn.Commit(t.Context(), storage.Synced)
		bsontest.Must(t, err)
	}
	now := store.Latest() + 1
	if now.Seconds() != 7 || now.Increment() < 2 {
		t.Fatalf("the store is at %v", now)
	}
	for _, c := range []struct {
		doc, want string // an empty want means doc itself, without a copy
		err       mongoerr.Code
	}{
		{doc: `{_id: 1, a: 2}`},
		{doc: `{_id: {a: 1}, a: 2}`},
		{doc: `{a: 2, _id: 1, b: 3}`, want: `{_id: 1, a: 2, b: 3}`},
		{doc: `{_id: 1, t: {"$timestamp":{"t":0,"i":0}}, u: {"$timestamp":{"t":0,"i":1}}}`,
			want: fmt.Sprintf(`{_id: 1, t: {"$timestamp":{"t":7,"i":%d}}, u: {"$timestamp":{"t":0,"i":1}}}`, now.Increment())},
		{doc: `{_id: 1, d: {t: {"$timestamp":{"t":0,"i":0}}}}`}, // only top-level ones
		{doc: `{_id: {"$timestamp":{"t":0,"i":0}}}`},
		{doc: `{a: 1, _id: {"$timestamp":{"t":0,"i":0}}}`, want: `{_id: {"$timestamp":{"t":0,"i":0}}, a: 1}`},
		{doc: `{_id: [1]}`, err: mongoerr.InvalidIdField},
		{doc: `{_id: {"$regularExpression":{"pattern":"a","options":""}}}`, err: mongoerr.InvalidIdField},
		{doc: `{_id: {"$undefined":true}}`, err: mongoerr.InvalidIdField},
		{doc: `{_id: {"$a": 1}}`, err: mongoerr.DollarPrefixedFieldName},
		{doc: `{_id: {"a": {"$b": 1}}}`, err: mongoerr.DollarPrefixedFieldName},
		{doc: `{_id: {"a": [{"$ref": "x"}]}}`, err: mongoerr.DollarPrefixedFieldName},
		{doc: `{_id: {"a": {"$ref": "x", "$id": 1, "$db": "d", "b": 1}}}`},
		{doc: `{_id: 1, _id: 2}`, err: mongoerr.BadValue},
		{doc: `{_id: null}`},
		{doc: nested(180)},
		{doc: nested(181), err: mongoerr.Overflow},
	} {
		doc := bsontest.Doc(t, c.doc)
		got, err := write.Prepare(doc, store)
		if mongoerr.CodeOf(err) != c.err || c.err == 0 && err != nil {
			t.Errorf("%.80s: error %v, want code %v", c.doc, err, c.err)
		}
		if c.err != 0 {
			continue
		}
		want := doc
		if c.want != "" {
			want = bsontest.Doc(t, c.want)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%.80s: %s", c.doc, ejson.String(got))
		}
		if same := &got[0] == &doc[0]; same != (c.want == "") {
			t.Errorf("%.80s: copied %t", c.doc, !same)
		}
	}
}

// nested returns a document with that many levels.
func nested(levels int) string {
	return `{_id: 1, a: ` + strings.Repeat(`{a: `, levels-1) + `1` + strings.Repeat(`}`, levels)
}

func TestPrepareMakesID(t *testing.T) {
	doc := bsontest.Doc(t, `{a: 1}`)
	one, err := write.Prepare(doc, nil)
	bsontest.Must(t, err)
	two, err := write.Prepare(doc, nil)
	bsontest.Must(t, err)
	first, _ := one.First()
	if string(first.Name) != "_id" || first.Value.Type != bson.TypeObjectID || one.Len() != 2 || first.Value.Identical(two.Get("_id")) {
		t.Errorf("%s and %s", ejson.String(one), ejson.String(two))
	}
}

func TestPrepareTooLarge(t *testing.T) {
	sized := func(n int, id bool) bson.Raw {
		b := bson.NewBuilder(nil)
		overhead := 5 + 1 + 2 + 4 + 1 // document, type, name, length, end
		if id {
			b.Int32("_id", 1)
			overhead += 1 + 4 + 4
		}
		b.String("x", strings.Repeat("x", n-overhead))
		return b.Doc()
	}
	for _, c := range []struct {
		size int
		id   bool
		err  mongoerr.Code
	}{
		{bson.MaxDocumentBytes, true, 0}, {bson.MaxDocumentBytes + 1, true, mongoerr.BSONObjectTooLarge},
		{bson.MaxDocumentBytes, false, mongoerr.BSONObjectTooLarge}, // with the generated _id
		{bson.MaxDocumentBytes - 17, false, 0},
	} {
		doc := sized(c.size, c.id)
		if len(doc) != c.size {
			t.Fatalf("the test's document has %d bytes, not %d", len(doc), c.size)
		}
		if _, err := write.Prepare(doc, nil); mongoerr.CodeOf(err) != c.err {
			t.Errorf("%d bytes, with _id %t: %v", c.size, c.id, err)
		}
	}
}
