package differential

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// TestPositions sends queries with numbers and empty names in their paths, for documents with arrays in arrays and
// with such field names. Reads by indexes of all kinds must return the same as a scan, and a write with the same
// filter must change the same documents.
func TestPositions(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	db := server.Client(t).Database(database)
	for seed := range seeds(t, 1) {
		g := newGenerator(seed)
		if err := db.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		docs, filters := bson.A{}, []bson.D{}
		for id := range int32(ids / 2) {
			docs = append(docs, bson.D{{Key: "_id", Value: id}, {Key: "a", Value: g.nested(3)}, {Key: "b", Value: g.nested(1)}, {Key: oneOf(g, "", "c"), Value: g.nested(1)}})
		}
		for range 40 {
			filters = append(filters, g.nestedFilter(1))
		}
		for i, index := range positionIndexes {
			name := fmt.Sprint("c", i)
			sent(t, db, bson.D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: bson.A{append(bson.D{{Key: "name", Value: "i"}}, index...)}}})
			// Documents that the index cannot hold are not inserted; that is no difference, because each collection
			// is compared only with itself.
			_ = db.RunCommand(t.Context(), bson.D{{Key: "insert", Value: name}, {Key: "documents", Value: docs}, {Key: "ordered", Value: false}}).Err()
			for _, filter := range filters {
				samePositions(t, db, name, seed, index, filter)
			}
			for range 3 {
				sameWrites(t, g, db, name, seed, index)
			}
			sameJoins(t, g, db, name, seed, index)
			if v := sent(t, db, bson.D{{Key: "validate", Value: name}, {Key: "full", Value: true}}); !v.Lookup("valid").Boolean() {
				t.Fatalf("CANTLE_SEED=%d, index %s: %s", seed, text(index), v)
			}
		}
	}
}

// positionIndexes are the specifications of the indexes of TestPositions.
var positionIndexes = []bson.D{
	keyed(bson.D{{Key: "a", Value: 1}}),
	keyed(bson.D{{Key: "a.0", Value: 1}}),
	keyed(bson.D{{Key: "a.0", Value: -1}, {Key: "b", Value: 1}}),
	keyed(bson.D{{Key: "b", Value: 1}, {Key: "a.b", Value: 1}}),
	keyed(bson.D{{Key: "a.0.b", Value: 1}}),
	keyed(bson.D{{Key: "a.0.0", Value: 1}}),
	keyed(bson.D{{Key: "a.b.0", Value: -1}}),
	keyed(bson.D{{Key: "a.1.b.0", Value: 1}, {Key: "a.0", Value: 1}}),
	keyed(bson.D{{Key: "a.0", Value: 1}, {Key: "a.1", Value: 1}}),
	keyed(bson.D{{Key: "a.0", Value: 1}}, bson.E{Key: "sparse", Value: true}),
	keyed(bson.D{{Key: "a.b", Value: 1}}, bson.E{Key: "sparse", Value: true}),
	keyed(bson.D{{Key: "a.0.b", Value: 1}, {Key: "b", Value: 1}}, bson.E{Key: "sparse", Value: true}),
	keyed(bson.D{{Key: "a.0", Value: 1}}, bson.E{Key: "partialFilterExpression", Value: bson.D{{Key: "a.0", Value: bson.D{{Key: "$exists", Value: true}}}}}),
	keyed(bson.D{{Key: "a", Value: 1}}, bson.E{Key: "partialFilterExpression", Value: bson.D{{Key: "a.0", Value: bson.D{{Key: "$gte", Value: 1}}}}}),
	keyed(bson.D{{Key: "b", Value: 1}}, bson.E{Key: "partialFilterExpression", Value: bson.D{{Key: "a.0.b", Value: bson.D{{Key: "$in", Value: bson.A{1, nil}}}}}}),
	keyed(bson.D{{Key: "a.0", Value: "hashed"}}),
	keyed(bson.D{{Key: "b", Value: 1}, {Key: "a.b", Value: "hashed"}}),
	keyed(bson.D{{Key: "$**", Value: 1}}),
	keyed(bson.D{{Key: "a.$**", Value: -1}}),
	keyed(bson.D{{Key: "a.b.$**", Value: 1}}),
	keyed(bson.D{{Key: "a.0.$**", Value: 1}}),
	keyed(bson.D{{Key: "$**", Value: 1}}, bson.E{Key: "wildcardProjection", Value: bson.D{{Key: "a.b", Value: 1}, {Key: "_id", Value: 1}}}),
	keyed(bson.D{{Key: "$**", Value: 1}}, bson.E{Key: "wildcardProjection", Value: bson.D{{Key: "a.b", Value: 0}}}),
	keyed(bson.D{{Key: "$**", Value: 1}}, bson.E{Key: "wildcardProjection", Value: bson.D{{Key: "a.0", Value: 0}}}),
	keyed(bson.D{{Key: "$**", Value: 1}}, bson.E{Key: "wildcardProjection", Value: bson.D{{Key: "a.0", Value: 1}}}),
	keyed(bson.D{{Key: "b", Value: 1}, {Key: "a.$**", Value: 1}}),
	keyed(bson.D{{Key: "a.$**", Value: 1}, {Key: "b", Value: -1}}),
	keyed(bson.D{{Key: "$**", Value: 1}, {Key: "b", Value: 1}}, bson.E{Key: "wildcardProjection", Value: bson.D{{Key: "b", Value: 0}}}),
}

func keyed(key bson.D, options ...bson.E) bson.D {
	return append(bson.D{{Key: "key", Value: key}}, options...)
}

// nested draws a value in which numbers as names, empty names and arrays in arrays are frequent.
func (g generator) nested(depth int) any {
	k := g.IntN(9)
	if depth == 0 {
		k = g.IntN(4)
	}
	switch k {
	case 0:
		return oneOf[any](g, nil, "x", bson.A{}, bson.D{}, bson.Undefined{})
	case 1, 2, 3:
		return int32(g.IntN(3))
	case 4, 5, 6:
		out := bson.A{}
		for range g.IntN(4) {
			out = append(out, g.nested(depth-1))
		}
		return out
	}
	out := bson.D{}
	for _, name := range []string{"b", "0", "1", "", "$x", "a.b"} {
		if g.IntN(4) == 0 {
			out = append(out, bson.E{Key: name, Value: g.nested(depth - 1)})
		}
	}
	return out
}

// nestedPath draws a path into such documents.
func (g generator) nestedPath() string {
	return oneOf(g, "a", "a.0", "a.0", "a.1", "a.b", "a.0.b", "a.0.0", "a.b.0", "a.0.1", "a.b.b", "a.1.b.0", "a.0.0.0", "a.0.b.0", "a.", "a..b", "a.0.", "b", "b.0", "b.b", "b.0.b", "", "c", "c.0", "a.$x")
}

// nestedFilter draws a filter on such paths.
func (g generator) nestedFilter(depth int) bson.D {
	if depth > 0 {
		switch g.IntN(6) {
		case 0:
			return bson.D{{Key: oneOf(g, "$and", "$or", "$nor"), Value: bson.A{g.nestedFilter(depth - 1), g.nestedFilter(depth - 1)}}}
		case 1:
			return append(g.nestedFilter(0), bson.E{Key: "b", Value: g.nestedCondition(1)})
		}
	}
	return bson.D{{Key: g.nestedPath(), Value: g.nestedCondition(1)}}
}

// nestedCondition draws a condition with any operator on fields.
func (g generator) nestedCondition(depth int) any {
	v := func() any { return g.nested(1) }
	noUndefined := func() any {
		for {
			if x := v(); !holdsUndefined(x) {
				return x
			}
		}
	}
	op := func(name string, value any) bson.D { return bson.D{{Key: name, Value: value}} }
	switch k := g.IntN(19); k {
	case 0, 1, 2:
		return op("$eq", noUndefined())
	case 3:
		return op(oneOf(g, "$gt", "$gte", "$lt", "$lte"), noUndefined())
	case 4:
		return op(oneOf(g, "$in", "$nin"), bson.A{noUndefined(), noUndefined()})
	case 5:
		return op("$ne", noUndefined())
	case 6, 7:
		return op("$exists", g.IntN(3) > 0)
	case 8:
		return op("$type", oneOf(g, "array", "object", "number", "null", "undefined", "string"))
	case 9:
		return op("$size", int32(g.IntN(3)))
	case 10:
		return op("$mod", bson.A{2, g.IntN(2)})
	case 11:
		return op(oneOf(g, "$bitsAllSet", "$bitsAnyClear"), int32(g.IntN(3)))
	case 12:
		return op("$regex", oneOf(g, "^x", "x"))
	case 13:
		return op("$all", bson.A{noUndefined(), noUndefined()})
	case 14, 15:
		if depth > 0 {
			for {
				if c, ok := g.nestedCondition(0).(bson.D); ok {
					return op("$elemMatch", c)
				}
			}
		}
	case 16:
		if depth > 0 {
			return op("$elemMatch", bson.D{{Key: oneOf(g, "b", "0", "b.0", "0.b", ""), Value: g.nestedCondition(0)}})
		}
	case 17:
		if depth > 0 {
			return op("$not", g.nestedCondition(0))
		}
	case 18:
		if depth > 0 {
			return op("$all", bson.A{op("$elemMatch", g.nestedCondition(0))})
		}
	}
	return op("$gte", int32(g.IntN(3)))
}

func holdsUndefined(v any) bool {
	switch v := v.(type) {
	case bson.Undefined:
		return true
	case bson.A:
		return slices.ContainsFunc(v, holdsUndefined)
	case bson.D:
		return slices.ContainsFunc(v, func(e bson.E) bool { return holdsUndefined(e.Value) })
	}
	return false
}

var natural = bson.D{{Key: "$natural", Value: 1}}

// samePositions checks that reads with one filter return the same by the planner's choice and by a scan.
func samePositions(t *testing.T, db *mongo.Database, name string, seed uint64, index, filter bson.D) {
	t.Helper()
	scan := bson.E{Key: "hint", Value: natural}
	ask := func(command bson.D) string {
		reply, err := db.RunCommand(t.Context(), command).Raw()
		if err != nil {
			return errorCode(err)
		}
		if cursor, err := reply.LookupErr("cursor", "firstBatch"); err == nil {
			return cursor.String()
		}
		if values, err := reply.LookupErr("values"); err == nil {
			return values.String()
		}
		return reply.Lookup("n").String()
	}
	for _, command := range []bson.D{
		{{Key: "find", Value: name}, {Key: "filter", Value: filter}, {Key: "sort", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "projection", Value: bson.D{{Key: "_id", Value: 1}}}},
		{{Key: "find", Value: name}, {Key: "filter", Value: filter}, {Key: "sort", Value: bson.D{{Key: index[0].Value.(bson.D)[0].Key, Value: -1}, {Key: "_id", Value: 1}}}, {Key: "projection", Value: bson.D{{Key: "_id", Value: 1}}}},
		{{Key: "find", Value: name}, {Key: "filter", Value: filter}, {Key: "sort", Value: bson.D{{Key: "a.0", Value: 1}, {Key: "_id", Value: 1}}}, {Key: "projection", Value: bson.D{{Key: "_id", Value: 1}}}},
		{{Key: "find", Value: name}, {Key: "filter", Value: filter}, {Key: "sort", Value: bson.D{{Key: "b", Value: 1}, {Key: "_id", Value: 1}}}, {Key: "projection", Value: bson.D{{Key: "_id", Value: 0}, {Key: "b", Value: 1}}}},
		{{Key: "count", Value: name}, {Key: "query", Value: filter}},
		{{Key: "distinct", Value: name}, {Key: "key", Value: "a.0"}, {Key: "query", Value: filter}},
	} {
		if sort, ok := command[len(command)-2].Value.(bson.D); ok && sort[0].Key == "$**" {
			continue
		}
		if want, got := ask(append(command[:len(command):len(command)], scan)), ask(command); got != want {
			t.Fatalf("CANTLE_SEED=%d, index %s: %s\n(- by a scan, + without hint)\n%s", seed, text(index), text(command), casefile.Diff(want, got))
		}
	}
}

// sameWrites checks that a write with one filter has the same effect in a collection and in a copy of it without the
// index.
func sameWrites(t *testing.T, g generator, db *mongo.Database, name string, seed uint64, index bson.D) {
	t.Helper()
	sent(t, db, bson.D{{Key: "aggregate", Value: name}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$out", Value: "copy"}}}}, {Key: "cursor", Value: bson.D{}}})
	filter := g.nestedFilter(1)
	byID := bson.D{{Key: "_id", Value: 1}}
	set := bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: g.IntN(100)}}}}
	w := func(name string) bson.D {
		return bson.D{{Key: "update", Value: name}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: filter}, {Key: "u", Value: set}, {Key: "multi", Value: true}}}}}
	}
	switch g.IntN(4) {
	case 0:
		w = func(name string) bson.D {
			return bson.D{{Key: "delete", Value: name}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: append(bson.D{{Key: "_id", Value: bson.D{{Key: "$mod", Value: bson.A{5, 0}}}}}, filter...)}, {Key: "limit", Value: 0}}}}}
		}
	case 1:
		w = func(name string) bson.D {
			return bson.D{{Key: "findAndModify", Value: name}, {Key: "query", Value: filter}, {Key: "sort", Value: byID}, {Key: "update", Value: set}}
		}
	}
	if want, got := outcome(t, db, "copy", w("copy")), outcome(t, db, name, w(name)); got != want {
		t.Fatalf("CANTLE_SEED=%d, index %s: %s\n(- without the index, + with it)\n%s", seed, text(index), text(w(name)), casefile.Diff(want, got))
	}
}

// sameJoins checks that $lookup and $graphLookup from a collection into itself return the same as into a copy of it
// without the index, and that $lookup into the copy returns the same for all rows at once and one by one.
func sameJoins(t *testing.T, g generator, db *mongo.Database, name string, seed uint64, index bson.D) {
	t.Helper()
	sent(t, db, bson.D{{Key: "aggregate", Value: name}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$out", Value: "copy"}}}}, {Key: "cursor", Value: bson.D{}}})
	for range 2 {
		start, local, foreign := oneOf(g, "$a", "$b"), g.nestedPath(), g.nestedPath()
		for local == "" || foreign == "" || local[len(local)-1] == '.' || foreign[len(foreign)-1] == '.' || local == "a..b" || foreign == "a..b" || local == "a.$x" || foreign == "a.$x" {
			local, foreign = g.nestedPath(), g.nestedPath()
		}
		ask := func(from string, match bson.D, stage bson.D) string {
			reply, err := db.RunCommand(t.Context(), bson.D{{Key: "aggregate", Value: name}, {Key: "pipeline", Value: bson.A{
				bson.D{{Key: "$sort", Value: bson.D{{Key: "_id", Value: 1}}}}, match, bson.D{{Key: "$project", Value: bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 1}, {Key: "c", Value: 1}}}},
				stage, bson.D{{Key: "$project", Value: bson.D{{Key: "r._id", Value: 1}}}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "r", Value: bson.D{{Key: "$sortArray", Value: bson.D{{Key: "input", Value: "$r._id"}, {Key: "sortBy", Value: 1}}}}}}}}}},
				{Key: "cursor", Value: bson.D{{Key: "batchSize", Value: 1000}}}}).Raw()
			if err != nil {
				return errorCode(err)
			}
			out := ""
			rows, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
			for _, r := range rows {
				out += r.String() + "\n"
			}
			return out
		}
		for i, stage := range []func(from string) bson.D{
			func(from string) bson.D {
				return bson.D{{Key: "$lookup", Value: bson.D{{Key: "from", Value: from}, {Key: "localField", Value: local}, {Key: "foreignField", Value: foreign}, {Key: "as", Value: "r"}}}}
			},
			func(from string) bson.D {
				return bson.D{{Key: "$graphLookup", Value: bson.D{{Key: "from", Value: from}, {Key: "startWith", Value: start}, {Key: "connectFromField", Value: local}, {Key: "connectToField", Value: foreign}, {Key: "as", Value: "r"}, {Key: "maxDepth", Value: 1}}}}
			},
		} {
			all := bson.D{{Key: "$limit", Value: 1000}}
			want := ask("copy", all, stage("copy"))
			if got := ask(name, all, stage(name)); got != want {
				t.Fatalf("CANTLE_SEED=%d, index %s: %s\n(- without the index, + with it)\n%s", seed, text(index), text(stage(name)), casefile.Diff(want, got))
			}
			if i > 0 || strings.HasPrefix(want, "error") {
				continue
			}
			one := ""
			for id := range int32(ids / 2) {
				one += ask("copy", bson.D{{Key: "$match", Value: bson.D{{Key: "_id", Value: id}}}}, stage("copy"))
			}
			if one != want {
				t.Fatalf("CANTLE_SEED=%d: %s\n(- all rows at once, + one by one)\n%s", seed, text(stage("copy")), casefile.Diff(want, one))
			}
		}
	}
}
