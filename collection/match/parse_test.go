package match_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
)

func TestOperatorsTable(t *testing.T) {
	if !slices.IsSortedFunc(match.Operators, func(a, b match.Operator) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table is not in alphabetical order")
	}
	for _, op := range match.Operators {
		if op.Doc == "" || op.Parse == nil || op.Where == 0 {
			t.Errorf("%s: incomplete row", op.Name)
		}
	}
}

func TestCheckNearAndText(t *testing.T) {
	env := mql.NewEnv(context.Background())
	for filter, ok := range map[string]bool{
		`{a: {$near: [0, 0]}, b: 1}`:                                           true,
		`{$and: [{a: {$near: [0, 0]}}, {b: 1}]}`:                               true,
		`{$or: [{a: {$near: [0, 0]}}, {b: 1}]}`:                                false,
		`{a: {$near: [0, 0]}, b: {$near: [0, 0]}}`:                             false,
		`{$nor: [{$text: {$search: "x"}}]}`:                                    false,
		`{$text: {$search: "x"}, a: 1}`:                                        true,
		`{$or: [{$text: {$search: "x"}}, {a: 1}]}`:                             true,
		`{$and: [{$text: {$search: "x"}}, {$text: {$search: "y"}}]}`:           false,
		`{$text: {$search: "x"}, a: {$near: [0, 0]}}`:                          false,
		`{a: {$elemMatch: {b: {$near: [0, 0]}}}}`:                              false,
		`{a: {$elemMatch: {b: 1}}, $nor: [{a: {$not: {$elemMatch: {b: 1}}}}]}`: true,
	} {
		n, err := match.Parse(env, bsontest.Doc(t, filter))
		if err != nil {
			t.Errorf("%s: %v", filter, err)
		} else if got := match.CheckNearAndText(n); (got == nil) != ok {
			t.Errorf("%s: %v", filter, got)
		}
	}
}

func TestFeatures(t *testing.T) {
	env := mql.NewEnv(context.Background())
	env.JavaScript = true
	n, err := match.Parse(env, bsontest.Doc(t, `{$or: [{$where: "1"}, {$expr: true}, {$nor: [{$jsonSchema: {}}]}], a: {$near: [0, 0]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := match.UsesWhere | match.UsesExpr | match.UsesSchema | match.UsesNear
	if got := match.Features(n); got != want {
		t.Errorf("%b, want %b", got, want)
	}
}

type wordMatcher struct{}

func (wordMatcher) MatchText(t *match.Text, doc bson.Raw) bool {
	s, _ := doc.Get("a").Str()
	return strings.Contains(s, t.Search)
}

func TestBindText(t *testing.T) {
	env := mql.NewEnv(context.Background())
	n, err := match.Parse(env, bsontest.Doc(t, `{$or: [{b: 1}, {$and: [{$text: {$search: "x"}}, {c: 1}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	doc := bsontest.Doc(t, `{a: "x y", c: 1}`)
	if _, err := n.Matches(env, doc, &expr.Scratch{}); mongoerr.CodeOf(err) != mongoerr.IndexNotFound {
		t.Errorf("unbound: %v", err)
	}
	if ok, err := match.BindText(n, wordMatcher{}).Matches(env, doc, &expr.Scratch{}); !ok || err != nil {
		t.Error(ok, err)
	}
}

// FuzzParse parses any BSON document as a filter and evaluates it on another one: the parser must return a filter or an
// error of the protocol, Normalize must keep the result of filters without $expr and $sampleRate, and the printed
// filter must be valid BSON.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		file, err := casefile.Open(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range file.Cases {
			for _, filter := range c.All("filter") {
				doc := bson.Empty
				if docs := c.All("doc"); len(docs) > 0 {
					doc = bsontest.Doc(f, docs[0])
				}
				f.Add([]byte(bsontest.Doc(f, filter)), []byte(doc))
			}
		}
	}
	env := mql.NewEnv(context.Background())
	f.Fuzz(func(t *testing.T, filter, doc []byte) {
		fr, err := bson.Parse(filter, bson.Limits{Bytes: 4 << 10, Depth: 50})
		if err != nil {
			return
		}
		dr, err := bson.Parse(doc, bson.Limits{Bytes: 4 << 10, Depth: 50})
		if err != nil {
			dr = bson.Empty
		}
		n, err := match.Parse(env, fr)
		if err != nil {
			if mongoerr.CodeOf(err) == mongoerr.InternalError {
				t.Fatal(err)
			}
			return
		}
		normal := match.Normalize(n)
		match.Shape(normal)
		match.CheckNearAndText(normal)
		s := &expr.Scratch{}
		ok, err := n.Matches(env, dr, s)
		again, err2 := normal.Matches(env, dr, s)
		if err == nil && err2 == nil && ok != again && match.Features(n)&match.UsesSample == 0 && match.Features(n)&match.UsesExpr == 0 {
			t.Fatalf("%t, normalised %t", ok, again)
		}
		if _, _, err := match.MatchPosition(env, dr, normal, s); err != nil && mongoerr.CodeOf(err) == mongoerr.InternalError {
			t.Fatal(err)
		}
		match.Explain(env, n, dr, s)
		match.Equalities(normal, func(string, bson.Value) {})
		match.Points(normal, "a")
		match.Walk(normal, func(c match.Node) {
			if p, ok := c.(match.Pathed); ok {
				p.Bounds(func(match.Interval) {})
			}
		})
		if _, err := bson.Parse(match.String(normal), bson.Limits{Bytes: 1 << 20, Depth: 300}); err != nil {
			t.Fatalf("printed: %v", err)
		}
	})
}
