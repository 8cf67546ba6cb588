package changestream

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/update"
)

// TestOplogDiff: the diff of an entry nests what changed by fields and elements.
func TestOplogDiff(t *testing.T) {
	for name, tc := range map[string]struct{ old, updated, want string }{
		"fields":            {`{a: 1, b: 2, d: "long enough to be worth it, and more so"}`, `{a: 3, d: "long enough to be worth it, and more so", c: 4}`, `{"d":{"b":false},"u":{"a":3,"c":4}}`},
		"below a field":     {`{a: {b: 1, c: "long enough to be worth it"}}`, `{a: {b: 2, c: "long enough to be worth it"}}`, `{"sa":{"u":{"b":2}}}`},
		"an element":        {`{a: ["long enough to be worth it", 1, 2]}`, `{a: ["long enough to be worth it", 5, 2]}`, `{"sa":{"a":true,"u1":5}}`},
		"below an element":  {`{a: [{x: "long enough to be worth it", y: 1}]}`, `{a: [{x: "long enough to be worth it", y: 2}]}`, `{"sa":{"a":true,"s0":{"u":{"y":2}}}}`},
		"elements cut":      {`{a: ["long enough to be worth it", 2, 3]}`, `{a: ["long enough to be worth it"]}`, `{"sa":{"a":true,"l":1}}`},
		"a number first":    {`{"0": 1, "7": {b: 1, c: "long enough to be worth it"}}`, `{"0": 2, "7": {b: 2, c: "long enough to be worth it"}}`, `{"u":{"0":2},"s7":{"u":{"b":2}}}`},
		"a number as field": {`{a: {"0": 1, b: "long enough to be worth it"}}`, `{a: {"0": 2, b: "long enough to be worth it"}}`, `{"sa":{"u":{"0":2}}}`},
		"ten elements": {`{a: ["long enough to be worth it for so many", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}`,
			`{a: ["long enough to be worth it for so many", 1, 0, 3, 4, 5, 6, 7, 8, 9, 0]}`, `{"sa":{"a":true,"u2":0,"u10":0}}`},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := update.Diff(bsontest.MustDoc(tc.old), bsontest.MustDoc(tc.updated))
			b := bson.NewBuilder(nil)
			d.Append(b)
			if got := ejson.String(diff(b.Doc())); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
