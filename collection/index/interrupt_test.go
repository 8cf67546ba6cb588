package index

import (
	"context"
	"errors"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// TestKeysEndWithTheirCommand requires that making the entries of a document with a very large array is interrupted
// when the command must end.
func TestKeysEndWithTheirCommand(t *testing.T) {
	b := bson.NewBuilder(nil)
	b.BeginArray("a")
	for range 200_000 {
		b.BeginDoc("")
		b.Int32("b", 1)
		b.End()
	}
	b.End()
	doc := b.Doc()
	for _, key := range []string{`{a: 1}`, `{"a.b": 1}`, `{"a.b": 1, "a.0": 1}`, `{"a.x.0": 1}`, `{"a.999999": 1}`, `{"$**": 1}`} {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		env := mql.NewEnv(ctx)
		d := bsontest.Doc(t, `{name: "x", key: `+key+`}`)
		for _, sparse := range []bool{false, true} {
			s := bson.NewBuilder(nil)
			s.Splice(d.Elements())
			if sparse && key != `{"$**": 1}` {
				s.Bool("sparse", true)
			}
			spec, err := ParseSpec(env, s.Doc())
			if err != nil {
				t.Fatal(err)
			}
			var scratch expr.Scratch
			if _, err := spec.Keys(env, doc, &scratch, func(_, _ []byte) error { return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, sparse %v: %v", key, sparse, err)
			}
		}
	}
}
