package expr_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/casefile/giant"
)

// TestGiantValues runs every operator but $function with the arguments of its cases, made as large as a client can:
// each evaluation ends soon after the command's time is over.
func TestGiantValues(t *testing.T) {
	for _, op := range expr.Operators {
		if op.Name == "$function" { // scripts are interrupted from outside
			continue
		}
		f, err := casefile.Open(filepath.Join("testdata", snake(op.Name)+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(op.Name, func(t *testing.T) {
			for i, c := range f.Cases {
				extremes(t, c, i)
			}
		})
	}
}

// extremes runs a case, the i-th of its operator, with extreme documents and operands: in one variant of them,
// in a soak test in all variants.
func extremes(t *testing.T, c *casefile.Case, i int) {
	text, _ := c.Get("expr")
	v := bsontest.Value(t, text)
	doc := bson.Empty
	for _, text := range c.All("doc") {
		d := bsontest.Doc(t, text)
		if _, err := evaluated(t.Context(), v, d); err == nil {
			doc = d
			break
		}
	}
	if _, err := evaluated(t.Context(), v, doc); err != nil {
		return // invalid expression
	}
	for _, variant := range giant.Ways(i) {
		giant.Watch(t, fmt.Sprintf("%s, variant %d", c.Position(), variant), func(ctx context.Context) {
			huge := giant.Inside(v, variant)
			_, _ = evaluated(ctx, v, giant.Fields(doc, variant))
			_, _ = evaluated(ctx, huge, doc)
			_, _ = evaluated(ctx, huge, giant.Fields(doc, variant))
			_, _ = evaluated(ctx, huge, giant.Fields(doc, variant+1))
		})
	}
}

// evaluated parses an expression and evaluates it on a document.
func evaluated(ctx context.Context, v bson.Value, doc bson.Raw) (bson.Value, error) {
	env := newEnv(ctx)
	e, err := expr.Parse(env, v)
	if err != nil {
		return v, err
	}
	var s expr.Scratch
	return e.Eval(env, doc, &s)
}
