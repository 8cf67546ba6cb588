package differential

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// collations are collations under which different strings are often equal.
var collations = []bson.D{
	{{Key: "locale", Value: "en"}, {Key: "strength", Value: 2}},
	{{Key: "locale", Value: "de"}, {Key: "strength", Value: 1}},
}

// collatedWrites is the number of writes of one seed.
const collatedWrites = 120

// TestDefaultCollation runs the same random writes on three collections: one with a default collation, one with this
// collation and with indexes, and one without a default, where each command names the collation. Replies and documents
// must be the same.
func TestDefaultCollation(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t)
	for seed := range seeds(t, 3) {
		g := newGenerator(seed)
		collation := bson.E{Key: "collation", Value: collations[seed%uint64(len(collations))]}
		db := client.Database(database)
		if err := db.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		sent(t, db, bson.D{{Key: "create", Value: "own"}, collation})
		sent(t, db, bson.D{{Key: "create", Value: "indexed"}, collation})
		sent(t, db, bson.D{{Key: "createIndexes", Value: "indexed"}, {Key: "indexes", Value: g.indexes()}})
		var docs bson.A
		for id := range int32(ids / 2) {
			doc := g.document()
			doc[0].Value = id
			docs = append(docs, doc)
		}
		for _, name := range []string{"own", "indexed", "named"} {
			sent(t, db, bson.D{{Key: "insert", Value: name}, {Key: "documents", Value: docs}})
		}
		for i := range collatedWrites {
			w := g.collatedWrite()
			want := outcome(t, db, "named", w("named", collation))
			for _, name := range []string{"own", "indexed"} {
				if got := outcome(t, db, name, w(name)); got != want {
					t.Fatalf("CANTLE_SEED=%d, write %d: %s\n(- by the collation named, + by the default of %s)\n%s", seed, i, text(w(name)), name, casefile.Diff(want, got))
				}
			}
		}
	}
}

// TestValidatorCollation inserts random documents under random validators into a collection with a default
// collation. The server must refuse exactly the documents that a count with the validator as its filter does not
// count under that collation.
func TestValidatorCollation(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t)
	accepted, refused := 0, 0
	for seed := range seeds(t, 3) {
		g := newGenerator(seed)
		collation := bson.E{Key: "collation", Value: collations[seed%uint64(len(collations))]}
		db := client.Database(database)
		for range 40 {
			if err := db.Drop(t.Context()); err != nil {
				t.Fatal(err)
			}
			filter := g.filter(1)
			sent(t, db, bson.D{{Key: "create", Value: "own"}, collation, {Key: "validator", Value: filter}})
			for id := range int32(5) {
				doc := g.document()
				doc[0].Value = id
				sent(t, db, bson.D{{Key: "insert", Value: "named"}, {Key: "documents", Value: bson.A{doc}}})
				err := db.RunCommand(t.Context(), bson.D{{Key: "insert", Value: "own"}, {Key: "documents", Value: bson.A{doc}}}).Err()
				n, e := db.RunCommand(t.Context(), bson.D{{Key: "count", Value: "named"},
					{Key: "query", Value: bson.D{{Key: "$and", Value: bson.A{bson.D{{Key: "_id", Value: id}}, filter}}}}, collation}).Raw()
				if e != nil {
					t.Fatal(e)
				}
				switch matches := n.Lookup("n").AsInt64() == 1; {
				case matches != (err == nil):
					t.Fatalf("CANTLE_SEED=%d: the validator %s matches %v of %s, and its insert says %v", seed, text(filter), matches, text(doc), err)
				case matches:
					accepted++
				default:
					refused++
				}
			}
		}
	}
	if accepted == 0 || refused == 0 {
		t.Fatalf("%d documents were accepted and %d refused, want some of both", accepted, refused)
	}
}

// sent runs a command that cannot fail.
func sent(t *testing.T, db *mongo.Database, command bson.D) bson.Raw {
	t.Helper()
	reply, err := db.RunCommand(t.Context(), command).Raw()
	if err != nil {
		t.Fatalf("%s: %v", text(command), err)
	}
	return reply
}

// outcome runs a write, and returns the fields of its reply and the contents of the collection afterwards, as text.
func outcome(t *testing.T, db *mongo.Database, name string, command bson.D) string {
	t.Helper()
	reply, err := db.RunCommand(t.Context(), command).Raw()
	out := ""
	if err != nil {
		out = strings.ReplaceAll(err.Error(), database+"."+name, "c") + "\n"
	}
	for _, field := range []string{"n", "nModified", "upserted", "lastErrorObject", "value", "nMatched", "nDeleted", "nUpserted"} {
		if v, err := reply.LookupErr(field); err == nil {
			out += field + ": " + v.String() + "\n"
		}
	}
	found := sent(t, db, bson.D{{Key: "find", Value: name}, {Key: "sort", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "batchSize", Value: 1000}})
	docs, _ := found.Lookup("cursor", "firstBatch").Array().Values()
	for _, doc := range docs {
		out += doc.String() + "\n"
	}
	return out
}

// collatedWrite draws a random write of one document or of many, and returns a function that makes its command for a
// collection; more is further fields of the statement.
func (g generator) collatedWrite() func(coll string, more ...bson.E) bson.D {
	q, u, filters := g.collatedUpdate()
	multi := g.IntN(2) == 0
	if !multi {
		q = append(bson.D{{Key: "_id", Value: int32(g.IntN(ids))}}, q...)
	}
	upsert := !multi && g.IntN(4) == 0
	options := bson.D{}
	if filters != nil {
		options = append(options, bson.E{Key: "arrayFilters", Value: filters})
	}
	kind := g.IntN(4)
	sort := bson.D{{Key: "s", Value: oneOf(g, 1, -1)}, {Key: "_id", Value: 1}}
	return func(coll string, more ...bson.E) bson.D {
		more = append(more, options...)
		switch kind {
		case 0:
			return append(bson.D{{Key: "findAndModify", Value: coll}, {Key: "query", Value: q}, {Key: "update", Value: u}, {Key: "upsert", Value: upsert},
				{Key: "sort", Value: sort}, {Key: "new", Value: true}}, more...)
		case 1:
			return bson.D{{Key: "delete", Value: coll}, {Key: "deletes", Value: bson.A{append(bson.D{{Key: "q", Value: append(q, bson.E{Key: "_id", Value: int32(7)})}, {Key: "limit", Value: 0}}, more[:len(more)-len(options)]...)}}}
		}
		return bson.D{{Key: "update", Value: coll}, {Key: "updates", Value: bson.A{
			append(bson.D{{Key: "q", Value: q}, {Key: "u", Value: u}, {Key: "multi", Value: multi}, {Key: "upsert", Value: upsert}}, more...)}}}
	}
}

// collatedUpdate draws a filter, an update that cannot fail on the matching documents, and its array filters. Most
// of them compare strings, so that the collation matters.
func (g generator) collatedUpdate() (q bson.D, u any, filters bson.A) {
	list := func() bson.A { return bson.A{g.text(), g.scalar(), g.text()} }
	one := func(operator, path string, argument any) bson.D { return bson.D{operation(operator, path, argument)} }
	q = g.filter(1)
	switch g.IntN(11) {
	case 0:
		return q, one("$pull", "t", g.text()), nil
	case 1:
		return q, one("$pull", "t", bson.D{{Key: oneOf(g, "$in", "$nin"), Value: list()}}), nil
	case 2:
		return q, one("$pull", "l", bson.D{{Key: "x", Value: bson.D{{Key: oneOf(g, "$eq", "$lt", "$gte", "$ne"), Value: g.text()}}}}), nil
	case 3:
		return q, one("$pullAll", "t", list()), nil
	case 4:
		return q, one("$addToSet", "t", bson.D{{Key: "$each", Value: list()}}), nil
	case 5:
		return q, one("$push", "t", bson.D{{Key: "$each", Value: list()}, {Key: "$sort", Value: oneOf(g, 1, -1)}}), nil
	case 6: // the element that the filter has matched
		return bson.D{{Key: "t", Value: g.text()}}, one("$set", "t.$", g.scalar()), nil
	case 7: // elements by their own filter
		q = append(bson.D{{Key: "t", Value: bson.D{{Key: "$exists", Value: true}}}}, q...)
		return dropped(q, "t"), one("$set", "t.$[e]", g.scalar()), bson.A{bson.D{{Key: "e", Value: bson.D{{Key: oneOf(g, "$eq", "$lte", "$gt"), Value: g.text()}}}}}
	case 8:
		q = append(bson.D{{Key: "l", Value: bson.D{{Key: "$exists", Value: true}}}}, q...)
		return dropped(q, "l"), one("$set", "l.$[e].y", g.scalar()), bson.A{bson.D{{Key: "e.x", Value: bson.D{{Key: "$in", Value: list()}}}}}
	case 9:
		return q, bson.A{
			one("$set", "a", bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$in", Value: bson.A{"$s", list()}}}, g.text(), "$a"}}}),
			one("$set", "b", bson.D{{Key: "$eq", Value: bson.A{"a", oneOf(g, "A", "b", "a")}}}),
		}, nil
	}
	return q, g.update(), nil
}

// dropped returns a filter without its conditions on a field; the first condition stays.
func dropped(q bson.D, name string) bson.D {
	out := q[:1:1]
	for _, e := range q[1:] {
		if e.Key != name {
			out = append(out, e)
		}
	}
	return out
}
