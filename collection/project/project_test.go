package project_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/project"
	"github.com/cantledb/cantle/internal/casefile"
)

// TestCases runs the case files. Their verbs:
//
//	project   `spec` of a find, perhaps with `filter`, or of the stage `stage`;
//	          a line per `doc`
//	paths     the paths that the projection reads, its kind, and whether it keeps each `path`
func TestCases(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		env := mql.NewEnv(context.Background())
		env.Release, env.ServerRelease = c.Release(), c.Release()
		tr, err := parse(t, env, c)
		if err != nil {
			return errorText(err)
		}
		var out []string
		switch c.Verb {
		case "project":
			s := &expr.Scratch{}
			for _, text := range c.All("doc") {
				d, err := project.Doc(env, tr, bsontest.Doc(t, text), s)
				switch {
				case err != nil:
					out = append(out, errorText(err))
				default:
					if _, err := bson.Parse(d, bson.Limits{}); err != nil {
						t.Errorf("%s: %v", text, err)
					}
					out = append(out, ejson.String(d))
				}
				s.Reset()
			}
		case "paths":
			var read []string
			tr.Paths(func(p string) { read = append(read, fmt.Sprintf("%q", p)) })
			out = append(out, fmt.Sprintf("kind %d reads %s", tr.Kind(), strings.Join(read, " ")))
			for _, p := range c.All("path") {
				out = append(out, fmt.Sprintf("%s %t", p, tr.Keeps(path.Must(p))))
			}
		default:
			t.Fatalf("unknown verb %s", c.Verb)
		}
		return strings.Join(out, "\n")
	})
}

func parse(t *testing.T, env *mql.Env, c *casefile.Case) (project.Transform, error) {
	text, _ := c.Get("spec")
	spec, err := ejson.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	if stage, ok := c.Get("stage"); ok {
		return project.ParseStage(env, stage, spec)
	}
	var filter match.Node
	if text, ok := c.Get("filter"); ok {
		if filter, err = match.Parse(env, bsontest.Doc(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	d, _ := spec.Doc()
	return project.ParseFind(env, d, filter)
}

func errorText(err error) string {
	e := mongoerr.From(err)
	return fmt.Sprintf("error %d %s", e.Code, e.Code)
}

// oneKiB is a flat document of about 1 KiB.
func oneKiB() bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32("_id", 1)
	for i := range 24 {
		if i == 12 {
			b.BeginDoc("n")
			b.Int32("x", 1)
			b.Int32("y", 2)
			b.End()
		}
		b.String(fmt.Sprintf("field%02d", i), "abcdefghijklmnopqrstuvwx")
	}
	return b.Doc()
}

var hotSpecs = []struct{ name, stage, spec string }{
	{"include-3", "$project", `{field02: 1, field10: 1, field20: 1}`},
	{"include-nested", "$project", `{"n.x": 1}`},
	{"exclude-2", "$project", `{field02: 0, field20: 0}`},
	{"set-path", "$set", `{field10: "$field02", "n.z": "$_id"}`},
}

func TestAllocsApply(t *testing.T) {
	doc := oneKiB()
	env := mql.NewEnv(context.Background())
	for _, c := range hotSpecs {
		spec := bsontest.Doc(t, c.spec)
		tr, err := project.ParseStage(env, c.stage, spec.Value())
		if err != nil {
			t.Fatal(err)
		}
		s := &expr.Scratch{}
		b := bson.NewBuilder(make([]byte, 0, 4096))
		buf := b.Finish()
		n := testing.AllocsPerRun(100, func() {
			b.Reset(buf[:0])
			if err := tr.Apply(env, b, doc, s); err != nil {
				t.Fatal(err)
			}
			buf = b.Finish()
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", c.spec, n)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	doc := oneKiB()
	env := mql.NewEnv(context.Background())
	for _, c := range hotSpecs {
		b.Run(c.name+"-1KiB", func(b *testing.B) {
			tr, err := project.ParseStage(env, c.stage, bsontest.Doc(b, c.spec).Value())
			if err != nil {
				b.Fatal(err)
			}
			s := &expr.Scratch{}
			out := bson.NewBuilder(make([]byte, 0, 4096))
			buf := out.Finish()
			b.ReportAllocs()
			for b.Loop() {
				out.Reset(buf[:0])
				tr.Apply(env, out, doc, s)
				buf = out.Finish()
			}
		})
	}
}
