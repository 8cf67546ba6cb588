package plans

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mql"
)

// TestShapesWithoutValues checks that query shapes keep no value of a projection or of a JSON schema.
func TestShapesWithoutValues(t *testing.T) {
	s := shaper{env: mql.NewEnv(t.Context())}
	filter := s
	filter.filter = true
	for _, x := range []struct {
		shape    func(bson.Raw) bson.Raw
		in, want string
	}{
		{s.projection, `{a: 1, b: {c: true}, d: "$e"}`, `{a: 1, b: {c: true}, d: "$e"}`},
		{s.projection, `{a: "x", b: {c: "x"}, d: ["x", "$e"], f: null}`, `{a: "?string", b: {c: "?string"}, d: ["?string", "$e"], f: "?null"}`},
		{s.projection, `{a: {$literal: "x"}, b: {$concat: ["$a", "x"]}, c: {$meta: "textScore"}}`, `{a: {$literal: "?"}, b: {$concat: ["$a", "?string"]}, c: {$meta: "textScore"}}`},
		{s.projection, `{a: {$elemMatch: {b: "$x", c: {$gt: 5}, d: {$in: [5]}}}}`, `{a: {$elemMatch: {b: "?string", c: {$gt: "?number"}, d: {$in: "?array"}}}}`},
		{s.projection, `{a: {$slice: 5}, b: {$slice: [5, 6]}}`, `{a: {$slice: "?number"}, b: {$slice: ["?number", "?number"]}}`},
		{filter.doc, `{$jsonSchema: {required: ["a"], title: "x", properties: {a: {enum: ["x"], bsonType: "string", minLength: 5}, enum: {not: {pattern: "x"}}}}}`,
			`{$jsonSchema: {required: ["a"], title: "?string", properties: {a: {enum: "?array", bsonType: "string", minLength: "?number"}, enum: {not: {pattern: "?string"}}}}}`},
		{filter.doc, `{$jsonSchema: {anyOf: [{maximum: 5}], items: {minimum: 5}, dependencies: {a: ["b"], c: {title: "x"}}, additionalProperties: false}}`,
			`{$jsonSchema: {anyOf: [{maximum: "?number"}], items: {minimum: "?number"}, dependencies: {a: ["b"], c: {title: "?string"}}, additionalProperties: false}}`},
	} {
		if got, want := x.shape(bsontest.Doc(t, x.in)).String(), bsontest.Doc(t, x.want).String(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", x.in, got, want)
		}
	}
}
