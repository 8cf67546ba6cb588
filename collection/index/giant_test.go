package index

import (
	"context"
	"fmt"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile/giant"
)

// TestGiantValues makes the index entries of documents as extreme as a client can make them, for indexes of every
// kind: each call ends soon after the command's time is over.
func TestGiantValues(t *testing.T) {
	docs := []string{
		`{a: [1, 2], b: "x y", c: 1}`, `{a: ["x", "y"], b: [[1, 2], [3, 4]]}`, `{a: [{b: 1}, {b: "x"}], b: {c: 1}}`, `{a: "the word", b: {type: "Point", coordinates: [1, 2]}}`,
		`{a: {type: "LineString", coordinates: [[1, 2], [3, 4]]}, b: [{type: "Point", coordinates: [1, 2]}]}`, `{a: null, b: [[[1]]], c: 5}`, `{a: {b: {c: [1]}}, b: 1}`,
	}
	for i := range Kinds {
		name := Kinds[i].Name
		keys := []string{fmt.Sprintf(`{a: %q}`, name), fmt.Sprintf(`{a: %q, c: 1}`, name), fmt.Sprintf(`{"a.b": %q}`, name)}
		switch name {
		case "":
			keys = []string{`{a: 1}`, `{a: 1, b: -1}`, `{"a.0": 1}`, `{"a.b": 1, "a.0.c": 1, "b.1": 1}`}
		case kindWildcard.Name:
			keys = []string{`{"$**": 1}`, `{"a.$**": -1}`}
		case kindText.Name:
			keys = append(keys, `{"$**": "text"}`)
		}
		for k, key := range keys {
			d := bsontest.Doc(t, `{name: "x", key: `+key+`}`)
			for _, variant := range giant.Ways(i + k) {
				giant.Watch(t, fmt.Sprintf("%s, variant %d", key, variant), func(ctx context.Context) {
					env := mql.NewEnv(ctx)
					spec, err := ParseSpec(env, d)
					if err != nil {
						t.Error(key, err)
						return
					}
					var s expr.Scratch
					for _, text := range docs {
						doc, err := ejson.Parse(text)
						if err != nil {
							t.Error(err)
							return
						}
						for _, doc := range []bson.Raw{giant.Fields(doc, variant), bson.Raw(giant.Inside(doc.Value(), variant).Data)} {
							_, _ = spec.Keys(env, doc, &s, func(_, _ []byte) error { return nil })
						}
					}
				})
			}
		}
	}
}
