package differential

import (
	"errors"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// words are strings that these collations sort in another order than their bytes, and other values.
var words = bson.A{"a", "A", "b", "B", "ab", "AB", "aB", "x", "X", "Z", "z", "á", "ä", "", nil, int32(1), 2.5, true}

// wordCollations are collations that order words differently.
var wordCollations = []bson.D{
	{{Key: "locale", Value: "en"}},
	{{Key: "locale", Value: "en"}, {Key: "strength", Value: 2}},
	{{Key: "locale", Value: "en"}, {Key: "strength", Value: 1}},
	{{Key: "locale", Value: "en"}, {Key: "caseFirst", Value: "upper"}},
}

// TestCollatedIndexes sends random conditions on text to a collection with one index, which has the collation of the
// query, another one or none, and may be partial. The answer by the planner's choice, and the count, must be those of
// a scan of the collection.
func TestCollatedIndexes(t *testing.T) {
	db := harness.Start(t, harness.Options{}).Client(t).Database(database)
	compared, indexed := 0, 0
	for seed := range seeds(t, 40) {
		g := newGenerator(seed)
		if err := db.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		collation := wordCollations[g.IntN(len(wordCollations))]
		sent(t, db, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: g.wordDocuments()}})
		sent(t, db, bson.D{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{g.wordIndex(collation)}}})
		for range 40 {
			filter := g.wordFilter()
			ask := func(more ...bson.E) ([]int32, error) {
				return idsFound(t, db, append(bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "batchSize", Value: 1000},
					{Key: "projection", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "collation", Value: collation}}, more...))
			}
			want, err := ask(bson.E{Key: "hint", Value: bson.D{{Key: "$natural", Value: 1}}})
			if err != nil {
				continue // such as a negation that a filter cannot have
			}
			got, err := ask()
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("CANTLE_SEED=%d: %s under %s finds %v, %v, and a scan finds %v", seed, text(filter), text(collation), got, err, want)
			}
			count := sent(t, db, bson.D{{Key: "count", Value: "c"}, {Key: "query", Value: filter}, {Key: "collation", Value: collation}})
			if n := count.Lookup("n").AsInt64(); n != int64(len(want)) {
				t.Fatalf("CANTLE_SEED=%d: %s under %s counts %d, and a scan finds %d", seed, text(filter), text(collation), n, len(want))
			}
			plan := sent(t, db, bson.D{{Key: "explain", Value: bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "collation", Value: collation}}},
				{Key: "verbosity", Value: "queryPlanner"}})
			compared++
			if stage, _ := plan.Lookup("queryPlanner", "winningPlan", "stage").StringValueOK(); stage != "COLLSCAN" {
				indexed++
			}
		}
	}
	if indexed < compared/4 {
		t.Errorf("%d of %d answers come from an index", indexed, compared)
	}
}

// idsFound returns the sorted _ids that a find returns, or the error of the server.
func idsFound(t *testing.T, db *mongo.Database, find bson.D) (ids []int32, err error) {
	t.Helper()
	reply, err := db.RunCommand(t.Context(), find).Raw()
	var refused mongo.CommandError
	if errors.As(err, &refused) {
		return nil, err
	}
	if err != nil {
		t.Fatal(err)
	}
	docs, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	for _, d := range docs {
		ids = append(ids, d.Document().Lookup("_id").Int32())
	}
	slices.Sort(ids)
	return ids, nil
}

// word draws a word or another value.
func (g generator) word() any { return words[g.IntN(len(words))] }

// wordDocuments draws documents with words in their fields a and b; in some collections a is often an array.
func (g generator) wordDocuments() (docs bson.A) {
	arrays := g.IntN(3) == 0
	for id := range int32(40) {
		d := bson.D{{Key: "_id", Value: id}}
		switch {
		case g.IntN(10) == 0:
		case arrays && g.IntN(2) == 0:
			list := bson.A{}
			for range g.IntN(4) {
				list = append(list, g.word())
			}
			d = append(d, bson.E{Key: "a", Value: list})
		default:
			d = append(d, bson.E{Key: "a", Value: g.word()})
		}
		if g.IntN(10) > 0 {
			d = append(d, bson.E{Key: "b", Value: g.word()})
		}
		docs = append(docs, d)
	}
	return docs
}

// wordIndex draws an index on a, and perhaps b.
func (g generator) wordIndex(collation bson.D) bson.D {
	key := bson.D{{Key: "a", Value: 1 - 2*g.IntN(2)}}
	if g.IntN(2) == 0 {
		key = append(key, bson.E{Key: "b", Value: 1})
	}
	x := bson.D{{Key: "key", Value: key}, {Key: "name", Value: "x"}}
	switch g.IntN(6) {
	case 0:
	case 1:
		x = append(x, bson.E{Key: "collation", Value: wordCollations[g.IntN(len(wordCollations))]})
	default:
		x = append(x, bson.E{Key: "collation", Value: collation})
	}
	if g.IntN(3) == 0 {
		conditions := []bson.D{{{Key: "$gt", Value: g.word()}}, {{Key: "$exists", Value: true}}, {{Key: "$lte", Value: g.word()}}, {{Key: "$in", Value: bson.A{g.word(), g.word()}}}}
		x = append(x, bson.E{Key: "partialFilterExpression", Value: bson.D{{Key: "b", Value: conditions[g.IntN(len(conditions))]}}})
	}
	return x
}

// wordFilter draws a filter with several conditions on the same path.
func (g generator) wordFilter() bson.D {
	if g.IntN(5) == 0 {
		return bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "a", Value: g.wordCondition(0)}, {Key: "b", Value: g.wordCondition(0)}}, bson.D{{Key: "a", Value: g.wordCondition(0)}}}}}
	}
	all := bson.A{}
	for range 1 + g.IntN(3) {
		all = append(all, bson.D{{Key: "a", Value: g.wordCondition(0)}})
	}
	f := bson.D{{Key: "$and", Value: all}}
	if g.IntN(2) == 0 {
		f = append(f, bson.E{Key: "b", Value: g.wordCondition(0)})
	}
	return f
}

// wordCondition draws the operators on one path; depth counts those around it.
func (g generator) wordCondition(depth int) bson.D {
	ops := []string{"$eq", "$gt", "$gte", "$lt", "$lte", "$ne", "$in", "$nin", "$exists", "$regex", "$not", "$elemMatch"}
	if depth > 1 {
		ops = ops[:6]
	}
	op := ops[g.IntN(len(ops))]
	switch op {
	case "$in", "$nin":
		list := bson.A{}
		for range 1 + g.IntN(4) {
			list = append(list, g.word())
		}
		return bson.D{{Key: op, Value: list}}
	case "$exists":
		return bson.D{{Key: op, Value: g.IntN(2) == 0}}
	case "$regex":
		return bson.D{{Key: op, Value: []string{"^a", "^A", "b", "^"}[g.IntN(4)]}}
	case "$not", "$elemMatch":
		return bson.D{{Key: op, Value: append(g.wordCondition(depth+1), g.wordCondition(2)...)}}
	}
	return bson.D{{Key: op, Value: g.word()}}
}
