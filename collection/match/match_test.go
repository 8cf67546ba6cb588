package match_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
)

// TestCases runs the case files. Their verbs, each with `filter` and perhaps `collation`:
//
//	match       a line per `doc`: true, false or the error
//	normalize   the filter as canonical MQL after Normalize
//	bounds      the intervals of each node with a path, and whether they are exact
//	shape, form a line per `filter`
//	equalities  the values that an upsert takes from the filter
//	points      the values that `path` can have
//	position    a line per `doc`: the position that $ refers to
//	implied     the intervals that $expr implies for the keys of an index
//	explain     a line per `doc`: the reasons why it does not match
func TestCases(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		env := newEnv(t, c)
		var out []string
		for _, text := range c.All("filter") {
			out = append(out, run(t, env, c, bsontest.Doc(t, text)))
		}
		return strings.Join(out, "\n")
	})
}

func newEnv(t testing.TB, c *casefile.Case) *mql.Env {
	env := mql.NewEnv(context.Background())
	env.Release, env.ServerRelease = c.Release(), c.Release()
	env.JavaScript = true
	if text, ok := c.Get("collation"); ok {
		coll, err := mql.ParseCollation(bsontest.Doc(t, text).Value())
		if err != nil {
			t.Fatal(err)
		}
		env.Collation = coll
	}
	return env
}

func run(t *testing.T, env *mql.Env, c *casefile.Case, filter bson.Raw) string {
	n, err := match.Parse(env, filter)
	if err != nil {
		return errorText(err)
	}
	normal := match.Normalize(n)
	var out []string
	s := &expr.Scratch{}
	switch c.Verb {
	case "match":
		for _, text := range c.All("doc") {
			doc := bsontest.Doc(t, text)
			got := answer(n.Matches(env, doc, s))
			if again := answer(normal.Matches(env, doc, s)); again != got {
				t.Errorf("%s on %s: %s, normalised %s", ejson.String(filter), text, got, again)
			}
			out = append(out, got)
		}
	case "normalize":
		out = append(out, ejson.String(match.String(normal)))
	case "form":
		out = append(out, match.Form(normal))
	case "shape":
		out = append(out, match.Shape(normal))
	case "bounds":
		match.Walk(normal, func(n match.Node) {
			if p, ok := n.(match.Pathed); ok {
				out = append(out, boundsText(p))
			}
		})
	case "equalities":
		match.Equalities(normal, func(p string, v bson.Value) { out = append(out, p+": "+ejson.ValueString(v)) })
	case "points":
		path, _ := c.Get("path")
		vs, ok := match.Points(normal, path)
		for _, v := range vs {
			out = append(out, ejson.ValueString(v))
		}
		out = append(out, fmt.Sprint(ok))
	case "position":
		for _, text := range c.All("doc") {
			i, ok, err := match.MatchPosition(env, bsontest.Doc(t, text), n, s)
			switch {
			case err != nil:
				out = append(out, errorText(err))
			case !ok:
				out = append(out, "none")
			default:
				out = append(out, fmt.Sprint(i))
			}
		}
	case "implied":
		match.Walk(normal, func(n match.Node) {
			var list []match.Implied
			switch n := n.(type) {
			case *match.Expr:
				list = n.Implied(env)
			case *match.Schema:
				list = n.Implied()
			}
			for _, i := range list {
				text := i.Path.String() + ":"
				for _, iv := range i.Intervals {
					text += intervalText(iv)
				}
				out = append(out, text)
			}
		})
	case "explain":
		for _, text := range c.All("doc") {
			d, err := match.Explain(env, n, bsontest.Doc(t, text), s)
			if err != nil {
				out = append(out, errorText(err))
			} else {
				out = append(out, ejson.String(d))
			}
		}
	default:
		t.Fatalf("unknown verb %s", c.Verb)
	}
	return strings.Join(out, "\n")
}

func answer(ok bool, err error) string {
	if err != nil {
		return errorText(err)
	}
	return fmt.Sprint(ok)
}

func errorText(err error) string {
	e := mongoerr.From(err)
	return fmt.Sprintf("error %d %s", e.Code, e.Code)
}

func boundsText(p match.Pathed) string {
	var b strings.Builder
	b.WriteString(p.Path().String() + ":")
	exact := p.Bounds(func(i match.Interval) {
		b.WriteString(intervalText(i))
	})
	if exact {
		b.WriteString(" exact")
	}
	return b.String()
}

func intervalText(i match.Interval) string {
	lo, hi := " (", ")"
	if i.LoInclusive {
		lo = " ["
	}
	if i.HiInclusive {
		hi = "]"
	}
	return lo + ejson.ValueString(i.Lo) + ", " + ejson.ValueString(i.Hi) + hi
}
