package differential

import (
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestFields sends the same random projection, some with metadata, with the same filter and sort to find with limit 1
// and to findAndModify. Both must return the same document or the same error code.
func TestFields(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t)
	found := 0
	for seed := range seeds(t, 2) {
		g := newGenerator(seed)
		db := client.Database(database)
		if err := db.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		var docs bson.A
		for id := range int32(ids) {
			doc := g.document()
			doc[0].Value = id
			docs = append(docs, append(doc, bson.E{Key: "words", Value: oneOf(g, "red", "red red green", "blue")},
				bson.E{Key: "at", Value: bson.A{g.IntN(90), g.IntN(90)}}))
		}
		sent(t, db, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}})
		indexes := bson.A{
			bson.D{{Key: "key", Value: bson.D{{Key: "words", Value: "text"}}}, {Key: "name", Value: "words"}},
			bson.D{{Key: "key", Value: bson.D{{Key: "at", Value: "2d"}}}, {Key: "name", Value: "at"}},
			bson.D{{Key: "key", Value: bson.D{{Key: "n", Value: 1}}}, {Key: "name", Value: "n"}},
		}
		sent(t, db, bson.D{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: indexes}})
		for range 150 {
			filter := oneOf(g, bson.D{}, g.filter(1), bson.D{{Key: "_id", Value: int32(g.IntN(ids))}}, bson.D{{Key: "t", Value: g.scalar()}},
				bson.D{{Key: "$text", Value: bson.D{{Key: "$search", Value: "red blue"}}}}, bson.D{{Key: "at", Value: bson.D{{Key: "$near", Value: bson.A{1, 2}}}}})
			sort := oneOf(g, bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "n", Value: -1}, {Key: "_id", Value: 1}})
			fields := g.projection()
			read, readErr := db.RunCommand(t.Context(), bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "sort", Value: sort},
				{Key: "projection", Value: fields}, {Key: "limit", Value: 1}}).Raw()
			changed, changeErr := db.RunCommand(t.Context(), bson.D{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: filter}, {Key: "sort", Value: sort},
				{Key: "fields", Value: fields}, {Key: "update", Value: bson.D{{Key: "$inc", Value: bson.D{{Key: "count", Value: 1}}}}}}).Raw()
			want, got := errorCode(readErr), errorCode(changeErr)
			if readErr == nil {
				if v, err := read.LookupErr("cursor", "firstBatch", "0"); err == nil {
					found++
					want = v.String()
				} else {
					want = "null"
				}
			}
			if changeErr == nil {
				got = changed.Lookup("value").String()
			}
			if got != want {
				t.Fatalf("CANTLE_SEED=%d: filter %s, sort %s, fields %s: findAndModify returns\n%s\nand find\n%s", seed, text(filter), text(sort), text(fields), got, want)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d documents were found, want 50 at least", found)
	}
}

// projection draws the fields of a find.
func (g generator) projection() bson.D {
	meta := func(kind string) any { return bson.D{{Key: "$meta", Value: kind}} }
	out := bson.D{}
	for i, n := 0, g.IntN(3); i <= n; i++ {
		out = append(out, oneOf(g,
			bson.E{Key: "score", Value: meta("textScore")}, bson.E{Key: "distance", Value: meta("geoNearDistance")}, bson.E{Key: "point", Value: meta("geoNearPoint")},
			bson.E{Key: "record", Value: meta("recordId")}, bson.E{Key: "key", Value: meta("indexKey")},
			bson.E{Key: oneOf(g, "a", "b", "o.x", "l.x", "_id"), Value: oneOf(g, 0, 1)}, bson.E{Key: "t.$", Value: 1},
			bson.E{Key: "t", Value: bson.D{{Key: "$slice", Value: 1}}}, bson.E{Key: "sum", Value: bson.D{{Key: "$add", Value: bson.A{"$n", 1}}}},
			bson.E{Key: "l", Value: bson.D{{Key: "$elemMatch", Value: bson.D{{Key: "x", Value: g.scalar()}}}}}))
	}
	return out
}

// errorCode returns the code of a command's error as text.
func errorCode(err error) string {
	var e mongo.CommandError
	if errors.As(err, &e) {
		return fmt.Sprint("error ", e.Code)
	}
	return fmt.Sprint(err)
}
