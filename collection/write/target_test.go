package write_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// insert adds a document, given as text, in a transaction; coll is a version of the collection's catalog entry.
func (r *room) insert(txn storage.Txn, coll *catalog.Collection, text string) error {
	doc, err := write.Prepare(bsontest.Doc(r.t, text), r.store)
	bsontest.Must(r.t, err)
	h, err := coll.Position(doc)
	bsontest.Must(r.t, err)
	return r.target(txn, coll, doc, h).Insert(r.env, doc, h)
}

// TestOneOfTwoWriters lets two transactions write the same unique values concurrently: the second commit must fail.
// If the shard reads two index partitions, this must also hold if one of the two uses the map from before the split.
func TestOneOfTwoWriters(t *testing.T) {
	for _, ix := range []string{`{key: {a: 1, u: 1}, name: "u", unique: true}`, `{key: {a: 1, u: 1}, name: "u", prepareUnique: true}`} {
		for _, c := range []struct {
			name          string
			first, second bool // whether the writer uses the new map
		}{{"both before the split", false, false}, {"the older commits first", false, true}, {"the newer commits first", true, false}, {"both after", true, true}} {
			t.Run(bsontest.Doc(t, ix).String()+c.name, func(t *testing.T) {
				r := newRoom(t, `{}`, `{a: 1}`, ix)
				before := r.coll
				at, err := r.coll.Key.AppendPosition(nil, bsontest.Doc(t, `{a: 5}`))
				bsontest.Must(t, err)
				next, err := before.Map.Split(0, at)
				bsontest.Must(t, err)
				after := before.With(func(c *catalog.Collection) { c.Map = next })
				coll := map[bool]*catalog.Collection{false: before, true: after}
				one, two := r.begin(), r.begin()
				bsontest.Must(t, r.insert(one, coll[c.first], `{_id: 1, a: 7, u: 1}`))
				bsontest.Must(t, r.insert(two, coll[c.second], `{_id: 2, a: 7, u: 1}`))
				_, err = one.Commit(r.env.Context(), storage.Synced)
				bsontest.Must(t, err)
				if _, err = two.Commit(r.env.Context(), storage.Synced); !errors.Is(err, storage.ErrConflict) {
					t.Fatalf("the second commit: %v", err)
				}
				again := r.begin()
				defer again.Close()
				if err := r.insert(again, after, `{_id: 2, a: 7, u: 1}`); mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
					t.Fatalf("the second once more: %v", err)
				}
			})
		}
	}
}

// TestDuplicateNamesKey checks the error of a duplicate.
func TestDuplicateNamesKey(t *testing.T) {
	r := newRoom(t, `{}`, "", `{key: {u: 1, v: -1}, name: "uv", unique: true}`, `{key: {c: 1}, name: "c", unique: true, sparse: true, collation: {locale: "en", strength: 2}}`)
	txn := r.begin()
	defer txn.Close()
	bsontest.Must(t, r.insert(txn, r.coll, `{_id: 1, u: "x", c: "One"}`))
	for _, c := range []struct{ doc, index, value string }{
		{`{_id: 1}`, "_id_", `{"_id":1}`},
		{`{_id: 2, u: "x"}`, "uv", `{"u":"x","v":null}`},
		{`{_id: 2, u: "y", c: "ONE"}`, "c", `{"c":"ONE"}`},
	} {
		r.env.Meter = &ratelimit.Meter{}
		sp := txn.Savepoint()
		err := r.insert(txn, r.coll, c.doc)
		if mongoerr.CodeOf(err) != mongoerr.DuplicateKey || !strings.Contains(err.Error(), "index: "+c.index+" ") {
			t.Fatalf("%s: %v", c.doc, err)
		}
		var e *mongoerr.Error
		errors.As(err, &e)
		b := bson.NewBuilder(nil)
		b.Splice(e.Fields)
		if got := b.Doc().Get("keyValue").String(); got != bsontest.Doc(t, c.value).String() {
			t.Errorf("%s: keyValue %s, want %s", c.doc, got, c.value)
		}
		if n := r.env.Meter.Sum(ratelimit.Failure); n != 1 {
			t.Errorf("%s: %d failures are charged", c.doc, n)
		}
		txn.RollbackTo(sp)
	}
}

// TestBuild checks Target.Build, which adds the entries of existing documents to an index, here a unique one that is
// building: the same document once more adds nothing, another with the same values is a duplicate, and the commit
// conflicts if the document was deleted meanwhile.
func TestBuild(t *testing.T) {
	for _, sharding := range []string{"", `{a: 1}`} {
		r := newRoom(t, `{}`, sharding)
		txn := r.begin()
		for _, doc := range []string{`{_id: 1, a: 1, u: 1}`, `{_id: 2, a: 1, u: 1}`, `{_id: 3, a: 1, u: 2}`} {
			bsontest.Must(t, r.insert(txn, r.coll, doc))
		}
		_, err := txn.Commit(r.env.Context(), storage.Synced)
		bsontest.Must(t, err)
		ix := r.index(`{key: {a: 1, u: 1}, name: "u", unique: true}`, catalog.IndexBuilding)
		build := func(txn storage.Txn, text string) (int64, error) {
			doc := bsontest.Doc(t, text)
			h := r.position(doc)
			return r.target(txn, r.coll, doc, h).Build(r.env, ix, doc, h)
		}
		drop := func(txn storage.Txn, text string) error {
			doc := bsontest.Doc(t, text)
			h := r.position(doc)
			return r.target(txn, r.coll, doc, h).Delete(r.env, doc, h)
		}
		txn = r.begin()
		if n, err := build(txn, `{_id: 1, a: 1, u: 1}`); n == 0 || err != nil {
			t.Fatalf("weight %d, %v", n, err)
		}
		if n, err := build(txn, `{_id: 1, a: 1, u: 1}`); n != 0 || err != nil {
			t.Fatalf("built twice: weight %d, %v", n, err)
		}
		if _, err := build(txn, `{_id: 2, a: 1, u: 1}`); mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
			t.Fatalf("a second document with the same values: %v", err)
		}
		bsontest.Must(t, drop(txn, `{_id: 2, a: 1, u: 1}`)) // it has the same values as the first
		if err := r.insert(txn, r.coll, `{_id: 4, a: 1, u: 1}`); mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
			t.Fatalf("the delete of a document without entry took the other's: %v", err)
		}
		txn.Close()

		one, two := r.begin(), r.begin() // a delete, and a build that reads the document at the same time
		bsontest.Must(t, drop(one, `{_id: 3, a: 1, u: 2}`))
		_, err = build(two, `{_id: 3, a: 1, u: 2}`)
		bsontest.Must(t, err)
		_, err = one.Commit(r.env.Context(), storage.Synced)
		bsontest.Must(t, err)
		if _, err = two.Commit(r.env.Context(), storage.Synced); !errors.Is(err, storage.ErrConflict) {
			t.Fatalf("an entry of a deleted document was built: %v", err)
		}
	}
}

// TestClaim refuses keys by Target.Claim: it must get the record's key before anything is written, and the keys of
// entries of unique indexes before they are set or removed.
func TestClaim(t *testing.T) {
	r := newRoom(t, `{}`, "", `{key: {c: 1}, name: "c"}`, `{key: {u: 1}, name: "u", unique: true}`)
	no := errors.New("no")
	doc := bsontest.Doc(t, `{_id: 1, c: 1, u: 1}`)
	for _, c := range []struct {
		refuse byte // one of keyspace's kinds
		want   string
	}{{0, "ri"}, {'r', "r"}, {'i', "ri"}} {
		txn := r.begin()
		asked := ""
		tg := &write.Target{Coll: r.coll, Shard: r.coll.Map.Shards()[0], Txn: txn, Claim: func(key []byte) error {
			asked += string(key[:1])
			if key[0] == c.refuse {
				return no
			}
			return nil
		}}
		for _, fn := range []func() error{
			func() error { return tg.Insert(r.env, doc, 0) },
			func() error { return tg.Delete(r.env, doc, 0) },
		} {
			asked = ""
			if err := fn(); (c.refuse != 0) != errors.Is(err, no) || asked != c.want {
				t.Errorf("refusing %q: asked for %q, want %q; error %v", c.refuse, asked, c.want, err)
			}
			if c.refuse == 'r' && len(r.contents(txn)) > 0 {
				t.Error("something was written before the record was claimed")
			}
		}
		txn.Close()
	}
}

// TestMultikey: an insert calls Target.Multikey if the document has an array in a field of the index that had none so
// far; an error of it ends the insert.
func TestMultikey(t *testing.T) {
	r := newRoom(t, `{}`, "", `{key: {b: 1, c: 1}, name: "bc"}`)
	txn := r.begin()
	defer txn.Close()
	ix := r.coll.Index("bc")
	told := 0
	no := errors.New("no")
	tg := &write.Target{Coll: r.coll, Shard: r.coll.Map.Shards()[0], Txn: txn, Multikey: func(of *catalog.Index, paths index.MultikeyPaths) error {
		if told++; of != ix || !paths.Any() {
			t.Errorf("told of %s, %v", of.Name, paths)
		}
		if told == 3 {
			return no
		}
		ix.Multikey = ix.Multikey.Union(paths)
		return nil
	}}
	for i, c := range []struct {
		doc  string
		told int
		want error
	}{
		{`{_id: 0, b: 1, c: 1}`, 0, nil}, {`{_id: 1, b: [1, 2]}`, 1, nil}, {`{_id: 2, b: [3]}`, 1, nil}, {`{_id: 3, c: [3]}`, 2, nil}, {`{_id: 4, b: [], c: 2}`, 2, nil},
	} {
		if err := tg.Insert(r.env, bsontest.Doc(t, c.doc), 0); !errors.Is(err, c.want) || told != c.told {
			t.Errorf("document %d: told %d times, want %d; error %v", i, told, c.told, err)
		}
	}
	ix.Multikey = nil
	if err := tg.Insert(r.env, bsontest.Doc(t, `{_id: 5, b: [1]}`), 0); !errors.Is(err, no) {
		t.Errorf("the refusal of a mark is lost: %v", err)
	}
	if err := tg.Insert(r.env, bsontest.Doc(t, `{_id: 6, b: [1], c: [1]}`), 0); mongoerr.CodeOf(err) != 171 {
		t.Errorf("parallel arrays: %v", err)
	}
}

// TestValidator tries a validator with the levels strict, moderate and off, and with the action warn.
func TestValidator(t *testing.T) {
	const good, bad, worse = `{_id: 1, a: 5}`, `{_id: 1, a: 1}`, `{_id: 1, a: 0}`
	for _, c := range []struct {
		options               string
		insert, spoil, worsen bool // whether an insert of bad and the updates good → bad and bad → worse are rejected
	}{
		{`validator: {a: {$gt: 3}}`, true, true, true},
		{`validator: {a: {$gt: 3}}, validationLevel: "moderate"`, true, true, false},
		{`validator: {a: {$gt: 3}}, validationLevel: "off"`, false, false, false},
		{`validator: {a: {$gt: 3}}, validationAction: "warn"`, false, false, false},
		{`validator: {}`, false, false, false},
	} {
		r := newRoom(t, "{"+c.options+"}", "")
		txn := r.begin()
		try := func(what string, refused bool, fn func(tg *write.Target) error) {
			t.Helper()
			tg := r.target(txn, r.coll, bsontest.Doc(t, good), 0)
			r.env.Meter = &ratelimit.Meter{}
			err := fn(tg)
			if refused != (mongoerr.CodeOf(err) == mongoerr.DocumentValidationFailure) || !refused && err != nil || refused != (r.env.Meter.Sum(ratelimit.Failure) == 1) {
				t.Errorf("%s: %s: %v, want it refused: %t", c.options, what, err, refused)
			}
			sp := txn.Savepoint()
			tg.Bypass = true
			if err := fn(tg); mongoerr.CodeOf(err) == mongoerr.DocumentValidationFailure {
				t.Errorf("%s: %s with bypass: %v", c.options, what, err)
			}
			txn.RollbackTo(sp)
		}
		try("insert", c.insert, func(tg *write.Target) error { return tg.Insert(r.env, bsontest.Doc(t, bad), 0) })
		try("spoil", c.spoil, func(tg *write.Target) error {
			return tg.Update(r.env, bsontest.Doc(t, good), bsontest.Doc(t, bad), 0, changelog.Replace, nil)
		})
		try("worsen", c.worsen, func(tg *write.Target) error {
			return tg.Update(r.env, bsontest.Doc(t, bad), bsontest.Doc(t, worse), 0, changelog.Replace, nil)
		})
		try("mend", false, func(tg *write.Target) error {
			return tg.Update(r.env, bsontest.Doc(t, bad), bsontest.Doc(t, good), 0, changelog.Replace, nil)
		})
		txn.Close()
	}
}

// TestSilent writes no log but counts.
func TestSilent(t *testing.T) {
	r := newRoom(t, `{}`, "")
	txn := r.begin()
	doc := bsontest.Doc(t, `{_id: 1}`)
	tg := r.target(txn, r.coll, doc, 0)
	tg.Silent = true
	bsontest.Must(t, tg.Insert(r.env, doc, 0))
	_, err := txn.Commit(r.env.Context(), storage.Synced)
	bsontest.Must(t, err)
	if n := len(r.log(0)); n != 0 || tg.Docs != 1 {
		t.Errorf("%d log records, %d documents", n, tg.Docs)
	}
}

// TestMeter checks the counts for the charge: documents, and the weight of entries. The weight is one for each of
// these small entries, two for an entry of a compound index, and one for each of _id and shard key, whether they
// have entries or not.
func TestMeter(t *testing.T) {
	indexes := []string{`{key: {b: 1}, name: "b"}`, `{key: {b: 1, c: 1}, name: "bc"}`, `{key: {c: 1}, name: "c", sparse: true}`}
	for _, c := range []struct {
		key           string
		insert        int64 // of {b: [1, 2], c: 1}
		removed, adds int64 // of the update to {b: [2, 3]}
		remove        int64 // of the updated document
	}{
		{"", 1 + 2 + 4 + 1, 1 + 4 + 1, 1 + 4, 1 + 2 + 4},
		{`{_id: "hashed"}`, 1 + 2 + 4 + 1, 1 + 4 + 1, 1 + 4, 1 + 2 + 4},
		{`{a: "hashed"}`, 2 + 2 + 4 + 1, 1 + 4 + 1, 1 + 4, 2 + 2 + 4},
	} {
		r := newRoom(t, `{}`, c.key, indexes...)
		txn := r.begin()
		one, two := bsontest.Doc(t, `{_id: 1, a: 1, b: [1, 2], c: 1}`), bsontest.Doc(t, `{_id: 1, a: 1, b: [2, 3]}`)
		h := r.position(one)
		count := func(what string, fn func(tg *write.Target) error, wrote, old, added, removed int64) {
			t.Helper()
			r.env.Meter = &ratelimit.Meter{}
			bsontest.Must(t, fn(r.target(txn, r.coll, one, h)))
			m := r.env.Meter
			got := []int64{m.Sum(ratelimit.WriteNew), m.Sum(ratelimit.WriteOld) + m.Sum(ratelimit.WriteReplaced), m.Sum(ratelimit.TermAdded), m.Sum(ratelimit.TermRemoved)}
			if want := []int64{wrote, old, added, removed}; !slices.Equal(got, want) {
				t.Errorf("key %q, %s: documents written and removed, weight added and removed %v, want %v", c.key, what, got, want)
			}
		}
		count("insert", func(tg *write.Target) error { return tg.Insert(r.env, one, h) }, 1, 0, c.insert, 0)
		count("update", func(tg *write.Target) error { return tg.Update(r.env, one, two, h, changelog.Replace, nil) }, 1, 1, c.adds, c.removed)
		count("delete", func(tg *write.Target) error { return tg.Delete(r.env, two, h) }, 0, 1, 0, c.remove)
		txn.Close()
	}
}

// TestClustered requires, in a clustered collection, an error for an _id that is too large, and special errors for
// duplicates of the _ids NaN and ±Infinity.
func TestClustered(t *testing.T) {
	r := newRoom(t, `{clusteredIndex: true}`, "")
	txn := r.begin()
	defer txn.Close()
	insert := func(id bson.Value) mongoerr.Code {
		b := bson.NewBuilder(nil)
		b.Value("_id", id)
		doc := b.Doc()
		return mongoerr.CodeOf(r.target(txn, r.coll, doc, 0).Insert(r.env, doc, 0))
	}
	text := func(n int) bson.Value {
		b := bson.NewBuilder(nil)
		b.String("", strings.Repeat("x", n))
		return b.Doc().Get("")
	}
	number := func(f float64) bson.Value {
		b := bson.NewBuilder(nil)
		b.Double("", f)
		return b.Doc().Get("")
	}
	const most = 8<<20 - 2
	for _, c := range []struct {
		id     bson.Value
		first  mongoerr.Code
		second mongoerr.Code
	}{
		{number(1), 0, mongoerr.DuplicateKey}, {text(1), 0, mongoerr.DuplicateKey},
		{number(math.NaN()), 0, 50819}, {number(math.Inf(1)), 0, 50826}, {number(math.Inf(-1)), 0, 50826},
		{text(most), 0, mongoerr.DuplicateKey}, {text(most + 1), 5894900, 5894900},
	} {
		if got := [2]mongoerr.Code{insert(c.id), insert(c.id)}; got != [2]mongoerr.Code{c.first, c.second} {
			t.Errorf("_id of type %v, %d bytes: errors %v, want %v and %v", c.id.Type, len(c.id.Data), got, c.first, c.second)
		}
	}
}

// TestUpdateTooLarge rejects a document beyond the size limit.
func TestUpdateTooLarge(t *testing.T) {
	r := newRoom(t, `{}`, "")
	txn := r.begin()
	defer txn.Close()
	b := bson.NewBuilder(nil)
	b.Int32("_id", 1)
	b.String("x", strings.Repeat("x", bson.MaxDocumentBytes))
	old := bsontest.Doc(t, `{_id: 1}`)
	err := r.target(txn, r.coll, old, 0).Update(r.env, old, b.Doc(), 0, changelog.Replace, nil)
	if mongoerr.CodeOf(err) != mongoerr.BSONObjectTooLarge || len(r.contents(txn)) > 0 {
		t.Errorf("error %v, %d keys written", err, len(r.contents(txn)))
	}
}

// TestWithoutID requires that a document without _id, a bug of the caller, is refused before it reaches the store.
func TestWithoutID(t *testing.T) {
	r := newRoom(t, `{}`, "")
	txn := r.begin()
	defer txn.Close()
	doc := bsontest.Doc(t, `{a: 1}`)
	if err := (&write.Target{Coll: r.coll, Shard: &shard.Descriptor{Partitions: []keyspace.PartitionID{0}}, Txn: txn}).Insert(r.env, doc, 0); mongoerr.CodeOf(err) != mongoerr.InternalError {
		t.Errorf("error %v", err)
	}
}
