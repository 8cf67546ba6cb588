package order_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/internal/casefile"
)

// TestCases runs the case files. Their verbs print: pattern, a parsed sort pattern; sort, documents in order, equal
// ones joined by =; tuples, the tuples of paths in a document.
func TestCases(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		env := mql.NewEnv(context.Background())
		env.Release, env.ServerRelease = c.Release(), c.Release()
		if spec, ok := c.Get("collation"); ok {
			v, err := ejson.ParseValue(spec)
			if err != nil {
				t.Fatal(err)
			}
			if env.Collation, err = mql.ParseCollation(v); err != nil {
				return failure(err)
			}
		}
		if c.Verb == "tuples" {
			return tuples(t, c)
		}
		p, err := order.Parse(env, doc(t, c, "pattern"))
		if err != nil {
			return failure(err)
		}
		if c.Verb == "pattern" {
			b := bson.NewBuilder(nil)
			p.AppendFields(b)
			return ejson.String(b.Doc())
		}
		return sorted(t, env, p, c.All("doc"))
	})
}

func failure(err error) string {
	e := mongoerr.From(err)
	return fmt.Sprintf("error %d %s", e.Code, e.Code)
}

func doc(t *testing.T, c *casefile.Case, key string) bson.Raw {
	s, _ := c.Get(key)
	return bsontest.Doc(t, s)
}

func sorted(t *testing.T, env *mql.Env, p order.Pattern, texts []string) string {
	type row struct {
		doc bson.Raw
		key []byte
	}
	var rows []row
	for _, s := range texts {
		d := bsontest.Doc(t, s)
		key, err := p.AppendKey(env, []byte("x"), d)
		if err != nil {
			return failure(err)
		}
		rows = append(rows, row{d, key})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	var out strings.Builder
	for i, r := range rows {
		if i > 0 && bytes.Equal(rows[i-1].key, r.key) {
			out.WriteString("= ")
		}
		out.WriteString(ejson.String(r.doc) + "\n")
		if i > 0 {
			n, err := p.CompareDocs(env, rows[i-1].doc, r.doc)
			if err != nil || n != bytes.Compare(rows[i-1].key, r.key) {
				t.Errorf("CompareDocs = %d, %v", n, err)
			}
		}
	}
	return out.String()
}

func tuples(t *testing.T, c *casefile.Case) string {
	var paths []path.Path
	for _, s := range c.All("path") {
		paths = append(paths, path.Must(s))
	}
	tp := order.Borrow()
	defer tp.Release()
	var out strings.Builder
	parallel, err := tp.Each(doc(t, c, "doc"), paths, func(values []bson.Value) error {
		for i, v := range values {
			if i > 0 {
				out.WriteString("  ")
			}
			out.WriteString(ejson.ValueString(v))
		}
		out.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if parallel {
		return "parallel arrays"
	}
	fmt.Fprintf(&out, "arrays %b\n", tp.Arrays())
	return out.String()
}

// TestTuplesAgainstWalk: for one path, the tuples are the values of path.LeafOnly.
func TestTuplesAgainstWalk(t *testing.T) {
	for _, d := range []string{
		`{a: 1}`, `{}`, `{a: []}`, `{a: [1, [2, 3]]}`, `{a: {b: [1, {c: 2}]}}`, `{a: [{b: 1}, {}, 7, {b: []}, {b: [8, 9]}]}`,
		`{a: [[1, 2], 3]}`, `{a: [{b: 1}, {b: 2}]}`, `{a: [[{b: 1}]]}`, `{a: [{b: [{c: [1, 2]}, {c: 3}]}, {b: {c: [4]}}]}`,
		`{a: [{"0": 5}]}`, `{a: {"0": [6]}}`, `{a: [[[1]], [[2]]]}`, `{a: [{b: [[1, 2], [3]]}]}`, `{a: [5, null]}`,
	} {
		for _, s := range []string{"a", "a.b", "a.b.c", "a.0", "a.1", "a.5", "a.0.b", "a.0.0", "a.b.0", "a.0.b.0", "a.1.b.c", "a.0.0.b"} {
			raw, p := bsontest.Doc(t, d), path.Must(s)
			var want, got []string
			p.Walk(raw, path.LeafOnly, func(v bson.Value, _ []int32) bool {
				want = append(want, ejson.ValueString(v))
				return true
			})
			tp := order.Borrow()
			_, _ = tp.Each(raw, []path.Path{p}, func(v []bson.Value) error {
				if v[0].IsMissing() {
					v[0] = bson.Null
				}
				got = append(got, ejson.ValueString(v[0]))
				return nil
			})
			tp.Release()
			if !slices.Equal(got, want) {
				t.Errorf("%s in %s: tuples %v, walk %v", s, d, got, want)
			}
		}
	}
}

func TestAllocsAppendKey(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	env := mql.NewEnv(context.Background())
	p, err := order.Parse(env, bsontest.Doc(t, `{a: 1, "b.c": -1}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{`{a: 1, b: {c: "x"}}`, `{a: 1, b: [{c: "x"}, {c: "y"}]}`} {
		raw := bsontest.Doc(t, d)
		dst := make([]byte, 0, 256)
		if n := testing.AllocsPerRun(100, func() { dst, _ = p.AppendKey(env, dst[:0], raw) }); n > 0 {
			t.Errorf("%s: %v allocations", d, n)
		}
	}
}

func TestPrefixAndReverse(t *testing.T) {
	env := mql.NewEnv(context.Background())
	pat := func(s string) order.Pattern {
		p, err := order.Parse(env, bsontest.Doc(t, s))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ab := pat(`{a: 1, b: -1}`)
	if !pat(`{a: 1}`).IsPrefixOf(ab) || pat(`{a: -1}`).IsPrefixOf(ab) || ab.IsPrefixOf(pat(`{a: 1}`)) {
		t.Error("IsPrefixOf")
	}
	if !ab.Reverse().Equal(pat(`{a: -1, b: 1}`)) || ab.Equal(ab.Reverse()) {
		t.Error("Reverse")
	}
}
