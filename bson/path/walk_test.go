package path

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
)

func walkText(doc bson.Raw, p Path, a Arrays) string {
	var out []string
	p.Walk(doc, a, func(v bson.Value, trail []int32) bool {
		s := ejson.ValueString(v)
		if len(trail) > 0 {
			s += fmt.Sprint(trail)
		}
		out = append(out, s)
		return true
	})
	return strings.Join(out, " ")
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		rule            Arrays
		doc, path, want string
	}{
		{Traverse, `{a: 1}`, "a", "1"},
		{Traverse, `{a: 1}`, "b", "missing"},
		{Traverse, `{a: 1}`, "a.b", "missing"},
		{Traverse, `{a: null}`, "a.b", "missing"},
		{Traverse, `{a: {b: [1, 2]}}`, "a.b", "[1,2]"},
		{TraverseLeaf, `{a: {b: [1, 2]}}`, "a.b", "1[0] 2[1] [1,2]"},
		{TraverseLeaf, `{a: [[1], 2]}`, "a", "[1][0] 2[1] [[1],2]"},
		{TraverseLeaf, `{a: []}`, "a", "[]"},
		{Traverse, `{a: [{b: 1}, {c: 2}, 5, [{b: 3}]]}`, "a.b", "1[0] missing[1]"},
		{Traverse, `{a: [[{b: 1}]]}`, "a.b", ""},
		{Traverse, `{a: []}`, "a.b", ""},
		{Traverse, `{a: [1, 2]}`, "a.b", ""},
		{Traverse, `{a: [10, 20]}`, "a.1", "20[1]"},
		{Traverse, `{a: [10, 20]}`, "a.5", ""},
		{Traverse, `{a: {"1": 3}}`, "a.1", "3"},
		{Traverse, `{a: [5, {"1": 4}]}`, "a.1", `4[1] {"1":4}[1]`},
		{Traverse, `{a: [{b: 1}, {b: 2}]}`, "a.1.b", "missing[0] missing[1] 2[1]"},
		{Traverse, `{a: [[{b: 1}]]}`, "a.0.b", "1[0 0]"},
		{Traverse, `{a: [{b: [{c: 1}, {c: 2}]}]}`, "a.b.c", "1[0 0] 2[0 1]"},
		{Stop, `{a: [{b: 1}, {c: 2}, 5, [{b: 3}]]}`, "a.b", "1[0]"},
		{Stop, `{a: [10, 20]}`, "a.1", ""},
		{Stop, `{a: 1}`, "b", ""},
		{LeafOnly, `{a: [1, [2, 3]]}`, "a", "1[0] [2,3][1]"},
		{LeafOnly, `{a: []}`, "a", `{"$undefined":true}`},
		{LeafOnly, `{a: []}`, "a.b", "null"},
		{LeafOnly, `{}`, "a.b", "null"},
		{LeafOnly, `{a: 5}`, "a.b", "null"},
		{LeafOnly, `{a: [{b: 1}, {}, 7, {b: []}, {b: [8, 9]}]}`, "a.b", `1[0] null[1] null[2] {"$undefined":true}[3] 8[4 0] 9[4 1]`},
		{LeafOnly, `{a: [1, 2]}`, "a.1", "2[1]"},
		{LeafOnly, `{a: [1, 2]}`, "a.5", "null[0] null[1]"},
		{LeafOnly, `{a: [[1, 2], 3]}`, "a.0", "[1,2][0]"},
		{LeafOnly, `{a: [[{b: 1}, 2], 3]}`, "a.0.b", "1[0 0] null[0 1]"},
		{LeafOnly, `{a: [5]}`, "a.0.b", "null[0]"},
		{TraverseLeaf, `{a: [[1, 2], 3]}`, "a.0", "[1,2][0]"},
		{TraverseLeaf, `{a: [5]}`, "a.0.b", ""},
		{TraverseLeaf, `{a: [{b: [1]}]}`, "a.0.b", "missing[0] 1[0 0] [1][0]"},
		{LeafOnly, `{a: [{b: 1}, {b: 2}]}`, "a.1.b", "2[1]"},
	} {
		if got := walkText(bsontest.Doc(t, c.doc), Must(c.path), c.rule); got != c.want {
			t.Errorf("rule %d, %s in %s:\n got %s\nwant %s", c.rule, c.path, c.doc, got, c.want)
		}
	}
}
