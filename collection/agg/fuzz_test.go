package agg

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
)

// FuzzPipelineParse checks that Parse, Optimize, Divide and Front do not panic, and that the printed form of a parsed
// pipeline parses to the same pipeline. Seeds are the pipelines of the case files.
func FuzzPipelineParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if p, ok := strings.CutPrefix(line, "pipeline: "); ok {
				f.Add(strings.TrimSpace(p))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ejson.ParseValue(text)
		if err != nil {
			return
		}
		stages, ok := pipelineDocs(v)
		if !ok {
			return
		}
		env := mql.NewEnv(context.Background())
		opts := Options{NS: collection.Namespace{DB: "test", Coll: "c"}}
		if NewOutline(stages).Err != nil {
			return
		}
		p, err := Parse(env, stages, opts)
		if err != nil {
			return
		}
		o := p.Optimize()
		o.Divide()
		o.Front()
		printed := p.BSON()
		again, ok := pipelineDocs(printed)
		if !ok {
			t.Fatalf("%s is no pipeline", ejson.ValueString(printed))
		}
		q, err := Parse(env, again, opts)
		if err != nil {
			t.Fatalf("%s\nprints as %s\n%v", text, ejson.ValueString(printed), err)
		}
		if twice := q.BSON(); !bytes.Equal(twice.Data, printed.Data) {
			t.Fatalf("%s\nprints as %s\nthen as   %s", text, ejson.ValueString(printed), ejson.ValueString(twice))
		}
	})
}
