package update_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/update"
)

// idle are updates of a path (%s) that have no effect on a document without the field "absent" and without "never"
// in any array. If at is false, this only holds if the path does not exist.
var idle = []struct {
	update string
	at     bool
}{
	{`{$rename: {absent: "%s"}}`, true},
	{`{$rename: {"absent.x": "%s"}}`, true},
	{`{$setOnInsert: {"%s": 1}}`, true},
	{`{$unset: {"%s": 1}}`, false},
	{`{$pull: {"%s": "never"}}`, false},
	{`{$pull: {"%s": {$in: ["never"]}}}`, false},
	{`{$pullAll: {"%s": ["never"]}}`, false},
}

// TestIdle applies updates that have no effect at random paths of random documents. None may be rejected because its
// path leads through a scalar, by a name into an array, or far beyond the end of an array.
func TestIdle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "0", "1", "3000000"}
	var value func(depth int) string
	value = func(depth int) string {
		switch k := r.IntN(6); {
		case k == 0 && depth > 0:
			return fmt.Sprintf(`{a: %s, b: %s}`, value(depth-1), value(depth-1))
		case k == 1 && depth > 0:
			return fmt.Sprintf(`[%s, %s]`, value(depth-1), value(depth-1))
		case k == 2:
			return `{}`
		case k == 3:
			return `[]`
		}
		return []string{`1`, `"x"`, `null`, `true`}[r.IntN(4)]
	}
	blocked := 0
	for range 3000 {
		doc := bsontest.Doc(t, fmt.Sprintf(`{_id: 1, a: %s, b: %s}`, value(2), value(2)))
		path := []string{"a", "b", "c"}[r.IntN(3)]
		for range r.IntN(4) {
			path += "." + names[r.IntN(len(names))]
		}
		if _, err := applied(t, fmt.Sprintf(`{$set: {"%s": 1}}`, path), doc); err != nil {
			blocked++
		}
		_, there := at(doc.Value(), path)
		for _, x := range idle {
			if there && !x.at {
				continue // $unset has an effect, and $pull rejects a value that is no array
			}
			u := fmt.Sprintf(x.update, path)
			if modified, err := applied(t, u, doc); err != nil || modified {
				t.Fatalf("%s on %s: modified %v, error %v", u, ejson.String(doc), modified, err)
			}
		}
	}
	if blocked < 500 {
		t.Errorf("%d paths could not be made, want 500 at least", blocked)
	}
}

// applied applies an update to a document.
func applied(t *testing.T, u string, doc bson.Raw) (modified bool, err error) {
	t.Helper()
	env := newEnv()
	p, err := update.Parse(env, bsontest.Doc(t, u).Value(), nil, update.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := match.Parse(env, bson.Empty)
	if err != nil {
		t.Fatal(err)
	}
	_, modified, err = apply(env, p, all, doc)
	return modified, err
}

// at returns the value at a path, with numbers as positions of arrays, as an update reads paths.
func at(v bson.Value, path string) (bson.Value, bool) {
	for name := range strings.SplitSeq(path, ".") {
		if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
			return v, false
		}
		var ok bool
		if v, ok = bson.Raw(v.Data).Lookup(name); !ok {
			return v, false
		}
	}
	return v, true
}
