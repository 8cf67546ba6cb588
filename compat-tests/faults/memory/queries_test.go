package memory

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	documents = 2000
	copies    = 4
	clients   = 8
)

// pipelines are pipelines that hold all documents that they read, 8 MB, in memory.
var pipelines = map[string]bson.D{
	"sort":  {{Key: "$sort", Value: bson.D{{Key: "k", Value: 1}, {Key: "r", Value: 1}}}},
	"group": {{Key: "$group", Value: bson.D{{Key: "_id", Value: bson.A{"$_id", "$r"}}, {Key: "s", Value: bson.D{{Key: "$first", Value: "$s"}}}}}},
	"window": {{Key: "$setWindowFields", Value: bson.D{{Key: "sortBy", Value: bson.D{{Key: "k", Value: 1}}},
		{Key: "output", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$documentNumber", Value: bson.D{}}}}}}}}},
	"facet": {{Key: "$facet", Value: bson.D{{Key: "n", Value: bson.A{counted}}}}},
}

// counted counts documents, and reads all their fields, so that the stages before it keep them.
var counted = bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}},
	{Key: "last", Value: bson.D{{Key: "$last", Value: "$$ROOT"}}}}}}

func pipeline(name string) bson.A {
	return bson.A{
		bson.D{{Key: "$set", Value: bson.D{{Key: "r", Value: bson.D{{Key: "$range", Value: bson.A{0, copies}}}}}}},
		bson.D{{Key: "$unwind", Value: "$r"}}, pipelines[name], counted,
	}
}

// TestQueriesShareMemory checks that queries that together need several times the memory limit spill to disk and
// return the right number of documents.
func TestQueriesShareMemory(t *testing.T) {
	ctx := context.Background()
	s, db := start(t)
	c := db.Collection("c")
	fill(ctx, t, c, documents)
	each(clients, func(i int) {
		name := []string{"sort", "group", "window", "facet"}[i%len(pipelines)]
		cur, err := c.Aggregate(ctx, pipeline(name), options.Aggregate().SetAllowDiskUse(true))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		var out []struct{ N int }
		if err := cur.All(ctx, &out); err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		want := documents * copies
		if name == "facet" {
			want = 1
		}
		if len(out) != 1 || out[0].N != want {
			t.Errorf("%s: %+v", name, out)
		}
	})
	work := workOf(ctx, t, db)
	// The peak may exceed the limit, because each operator may hold a little memory without reserving it, and each
	// command one step.
	if q := work["queries"]; q.Refused == 0 || q.PeakBytes > q.MaxBytes+clients<<20 {
		t.Errorf("queries: %+v", q)
	}
	waitReleased(ctx, t, db, "queries")
	if err := s.Trouble(); err != nil {
		t.Error(err)
	}
}

// TestQueriesThatCannotSpillFail checks that a query that may not or cannot spill fails with MongoDB's code and an
// error that names --work-memory, and that small commands continue.
func TestQueriesThatCannotSpillFail(t *testing.T) {
	ctx := context.Background()
	_, db := start(t)
	c := db.Collection("c")
	fill(ctx, t, c, documents)
	refused := func(what string, code int, err error) {
		t.Helper()
		var e mongo.CommandError
		if !errors.As(err, &e) || int(e.Code) != code || !e.HasErrorMessage("--work-memory") {
			t.Errorf("%s: %v, want code %d", what, err, code)
		}
	}
	// The pipeline sorts 32 MB, more than the memory of all queries together.
	twice := append(bson.A{bson.D{{Key: "$set", Value: bson.D{{Key: "q", Value: bson.D{{Key: "$range", Value: bson.A{0, copies}}}}}}},
		bson.D{{Key: "$unwind", Value: "$q"}}}, pipeline("sort")...)
	_, err := c.Aggregate(ctx, twice, options.Aggregate().SetAllowDiskUse(false))
	refused("a sort that may not spill", 292, err)
	_, err = c.Aggregate(ctx, bson.A{bson.D{{Key: "$limit", Value: 1}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$size", Value: bson.D{{Key: "$range", Value: bson.A{0, 5_000_000}}}}}}}}}})
	refused("an array of 5,000,000 numbers", 146, err)
	if n, err := c.CountDocuments(ctx, bson.D{{Key: "k", Value: bson.D{{Key: "$lt", Value: 10}}}}); err != nil || n != 10 {
		t.Errorf("a small command meanwhile: %d, %v", n, err)
	}
	waitReleased(ctx, t, db, "queries")
}

// TestLookupReduces checks that a $lookup whose row joins more documents than the memory of all queries holds works
// if its sub-pipeline returns little, with and without an index, by localField and by $expr.
func TestLookupReduces(t *testing.T) {
	ctx := context.Background()
	_, db := start(t)
	local, foreign := db.Collection("local"), db.Collection("foreign")
	const n, size = 48, 1 << 20
	for i := range n {
		if _, err := foreign.InsertOne(ctx, bson.D{{Key: "_id", Value: i}, {Key: "k", Value: 1}, {Key: "s", Value: strings.Repeat("x", size)}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := local.InsertOne(ctx, bson.D{{Key: "_id", Value: 1}, {Key: "k", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	sum := bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$strLenCP", Value: "$s"}}}}}}}}
	equal := bson.D{{Key: "$match", Value: bson.D{{Key: "$expr", Value: bson.D{{Key: "$eq", Value: bson.A{"$k", "$$k"}}}}}}}
	joins := map[string]bson.D{
		"localField": {{Key: "from", Value: "foreign"}, {Key: "localField", Value: "k"}, {Key: "foreignField", Value: "k"}, {Key: "pipeline", Value: bson.A{sum}}, {Key: "as", Value: "r"}},
		"$expr":      {{Key: "from", Value: "foreign"}, {Key: "let", Value: bson.D{{Key: "k", Value: "$k"}}}, {Key: "pipeline", Value: bson.A{equal, sum}}, {Key: "as", Value: "r"}},
	}
	for _, indexed := range []bool{false, true} {
		if indexed {
			if _, err := foreign.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "k", Value: 1}}}); err != nil {
				t.Fatal(err)
			}
		}
		for name, join := range joins {
			var out []struct{ R []struct{ N int } }
			cur, err := local.Aggregate(ctx, bson.A{bson.D{{Key: "$lookup", Value: join}}})
			if err == nil {
				err = cur.All(ctx, &out)
			}
			if err != nil || len(out) != 1 || len(out[0].R) != 1 || out[0].R[0].N != n*size {
				t.Errorf("%s, indexed %v: %v, %v", name, indexed, out, err)
			}
		}
	}
	waitReleased(ctx, t, db, "queries")
}

// TestLookupSpills checks that a $lookup without an index joins by a table of the foreign documents, of which memory
// does not hold a half: it scans the foreign collection a few times, not once for each batch of rows, spills, and
// returns the right sums. The same holds for $graphLookup.
func TestLookupSpills(t *testing.T) {
	ctx := context.Background()
	_, db := start(t)
	local, foreign := db.Collection("local"), db.Collection("foreign")
	const n, rows, size = 2000, 1250, 16 << 10
	for from := 0; from < n; from += 500 {
		var docs []any
		for i := from; i < from+500; i++ {
			docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "k", Value: i % 500}, {Key: "q", Value: i}, {Key: "s", Value: strings.Repeat("x", size)}})
		}
		if _, err := foreign.InsertMany(ctx, docs); err != nil {
			t.Fatal(err)
		}
	}
	var docs []any
	for i := range rows {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "k", Value: i % 625}})
	}
	if _, err := local.InsertMany(ctx, docs); err != nil {
		t.Fatal(err)
	}
	sum := bson.D{{Key: "$set", Value: bson.D{{Key: "r", Value: bson.D{{Key: "$sum", Value: "$r.q"}}}}}}
	for name, join := range map[string]bson.D{
		"$lookup": {{Key: "from", Value: "foreign"}, {Key: "localField", Value: "k"}, {Key: "foreignField", Value: "k"}, {Key: "as", Value: "r"}},
		"$graphLookup": {{Key: "from", Value: "foreign"}, {Key: "startWith", Value: "$k"}, {Key: "connectFromField", Value: "none"},
			{Key: "connectToField", Value: "k"}, {Key: "as", Value: "r"}},
	} {
		stages := bson.A{bson.D{{Key: name, Value: join}}, sum}
		var out []struct{ K, R int }
		cur, err := local.Aggregate(ctx, stages)
		if err == nil {
			err = cur.All(ctx, &out)
		}
		if err != nil || len(out) != rows {
			t.Fatalf("%s: %d documents, %v", name, len(out), err)
		}
		for _, o := range out {
			want := 0
			if o.K < 500 {
				want = 4*o.K + 500 + 1000 + 1500
			}
			if o.R != want {
				t.Fatalf("%s: k %d: the sum is %d, want %d", name, o.K, o.R, want)
			}
		}
		var plan bson.Raw
		explain := bson.D{{Key: "explain", Value: bson.D{{Key: "aggregate", Value: "local"}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{}}}}, {Key: "verbosity", Value: "executionStats"}}
		if err := db.RunCommand(ctx, explain).Decode(&plan); err != nil {
			t.Fatal(err)
		}
		text := plan.String()
		if scans := field(text, "collectionScans"); scans < 2 || scans > 18 {
			t.Errorf("%s scans the foreign collection %d times", name, scans)
		}
		if !strings.Contains(text, `"usedDisk": true`) {
			t.Errorf("%s spills nothing: %s", name, text)
		}
	}
	waitReleased(ctx, t, db, "queries")
}

// field returns the number that follows a field's name in the text of a document, -1 if there is none.
func field(doc, name string) int {
	at := regexp.MustCompile(`"` + name + `": ?\{?(?:"\$number(?:Int|Long)": ?")?(\d+)`).FindStringSubmatch(doc)
	if at == nil {
		return -1
	}
	n, _ := strconv.Atoi(at[1])
	return n
}
