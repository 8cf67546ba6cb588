package update_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/internal/casefile"
)

// FuzzUpdate applies any update to any document. The result must be valid BSON, and unchanged if Modified is false;
// the change stream's description must lead from the old document to the new one, unless that replaces it; and for
// operators that only set or remove, a second application must change nothing.
func FuzzUpdate(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		if _, err := os.Stat(name); err != nil {
			f.Fatal(err)
		}
		cases, err := casefile.Open(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range cases.Cases {
			filters, _ := c.Get("arrayFilters")
			for _, u := range c.All("update") {
				for _, d := range c.All("doc") {
					f.Add(u, d, filters)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, u, d, filters string) {
		if strings.Count(u+d, "[")+strings.Count(u+d, "{") > 200 || strings.Contains(u, "Date") {
			return
		}
		v, err := ejson.ParseValue(u)
		if err != nil {
			return
		}
		doc, err := ejson.Parse(d)
		if err != nil {
			return
		}
		var list []bson.Raw
		if w, err := ejson.ParseValue(filters); err == nil {
			arr, _ := w.Array()
			for x := range arr.Values() {
				if fd, ok := x.Doc(); ok {
					list = append(list, fd)
				}
			}
		}
		env := newEnv()
		p, err := update.Parse(env, v, list, update.Options{})
		if err != nil {
			return
		}
		all, _ := match.Parse(env, bson.Empty)
		got, modified, err := apply(env, p, all, doc)
		if err != nil {
			return
		}
		anew := p.IsReplacement() && !bytes.Equal(v.Data, doc)
		if modified == bytes.Equal(got, doc) && !(anew && modified) {
			t.Fatalf("modified is %v: %s to %s", modified, doc, got)
		}
		delta, whole := p.Delta(doc, got, position(env, all, doc))
		if !modified && !delta.IsEmpty() {
			t.Fatalf("delta of nothing: %v", delta)
		}
		if again := redo(doc, &delta); !whole && !p.IsReplacement() && !bytes.Equal(again, got) {
			t.Fatalf("%s, by its delta %s to %s instead of %s", u, doc, again, got)
		}
		if !settles(v) {
			return
		}
		again, modified, err := apply(env, p, all, got)
		if err != nil || modified {
			t.Fatalf("second application of %s: %v, %s to %s", u, err, got, again)
		}
	})
}

// settles reports whether the update v has only operators that set or remove, so that a second application changes
// nothing.
func settles(v bson.Value) bool {
	d, ok := v.Doc()
	if !ok {
		return false
	}
	n := 0
	for it := d.Iter(); it.Next(); n++ {
		switch string(it.Name) {
		case "$set", "$unset", "$min", "$max", "$addToSet", "$pullAll":
			if strings.Contains(v.String(), "$[") {
				return false // the elements that a filter matches may change
			}
		default:
			return false
		}
	}
	return n > 0
}
