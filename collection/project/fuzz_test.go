package project_test

import (
	"bytes"
	"context"
	"path/filepath"
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

// FuzzApply uses any documents as projection and as input: the result must be valid BSON, and a projection that both
// a find and $project accept must have the same result, unless it has $slice, $rand or $function.
func FuzzApply(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		file, err := casefile.Open(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range file.Cases {
			text, _ := c.Get("spec")
			spec, err := ejson.ParseValue(text)
			if d, ok := spec.Doc(); ok && err == nil {
				for _, doc := range c.All("doc") {
					f.Add([]byte(d), []byte(bsontest.Doc(f, doc)))
				}
			}
		}
	}
	env := mql.NewEnv(context.Background())
	all, err := match.Parse(env, bson.Empty)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, spec, doc []byte) {
		sr, err := bson.Parse(spec, bson.Limits{Bytes: 4 << 10, Depth: 50})
		if err != nil {
			return
		}
		dr, err := bson.Parse(doc, bson.Limits{Bytes: 4 << 10, Depth: 50})
		if err != nil {
			return
		}
		s := &expr.Scratch{}
		apply := func(tr project.Transform, err error) bson.Raw {
			if err == nil {
				var out bson.Raw
				if out, err = project.Doc(env, tr, dr, s); err == nil {
					if _, err := bson.Parse(out, bson.Limits{Bytes: 1 << 20, Depth: 300}); err != nil {
						t.Fatalf("%s on %s: %v", ejson.String(sr), ejson.String(dr), err)
					}
					tr.Paths(func(string) {})
					tr.Keeps(path.Must("a.b"))
					return out
				}
			}
			if mongoerr.CodeOf(err) == mongoerr.InternalError {
				t.Fatal(err)
			}
			return nil
		}
		find := apply(project.ParseFind(env, sr, all))
		stage := apply(project.ParseStage(env, "$project", sr.Value()))
		apply(project.ParseStage(env, "$set", sr.Value()))
		apply(project.ParseStage(env, "$replaceWith", sr.Value()))
		own := bytes.Contains(spec, []byte("$slice")) || bytes.Contains(spec, []byte("$rand")) || bytes.Contains(spec, []byte("$function"))
		if find != nil && stage != nil && !own && !bytes.Equal(find, stage) {
			t.Fatalf("%s on %s: find gives %s, $project %s", ejson.String(sr), ejson.String(dr), ejson.String(find), ejson.String(stage))
		}
	})
}
