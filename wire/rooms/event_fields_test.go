package rooms

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/release"
)

// TestEventFieldsByRelease checks which fields events have in the releases of MongoDB, with and without
// showExpandedEvents.
func TestEventFieldsByRelease(t *testing.T) {
	for _, c := range []struct {
		release             release.Release
		kinds, alwaysOthers bool
	}{{release.V7_0, false, false}, {release.V8_0, false, false}, {release.V8_3, true, true}, {release.V9_0, true, true}} {
		w := newWorld(t, nil)
		w.Release = c.release
		conn := w.dial()
		conn.ok(`{create: "first"}`)
		plain, expanded := conn.watch("test", "1", `{}`), conn.watch("test", "1", `{showExpandedEvents: true}`)
		conn.ok(`{create: "c"}`)
		conn.ok(`{create: "v", viewOn: "c"}`)
		conn.ok(`{create: "t", timeseries: {timeField: "at"}}`)
		conn.ok(`{insert: "c", documents: [{_id: 1}]}`)
		conn.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 1}}}]}`)
		conn.ok(`{renameCollection: "test.c", to: "test.d", $db: "admin"}`)
		ofCollection, paths, described := "", "", ""
		if c.alwaysOthers {
			ofCollection, paths, described = `collectionUUID: "U", `, `, disambiguatedPaths: {}`, `, operationDescription: { to: { db: "test", coll: "d" } }`
		}
		plain.expect(`{ operationType: "insert", `+ofCollection+`fullDocument: { _id: 1 }, ns: { db: "test", coll: "c" }, documentKey: { _id: 1 } }`,
			`{ operationType: "update", `+ofCollection+`ns: { db: "test", coll: "c" }, documentKey: { _id: 1 }, updateDescription: { updatedFields: { a: 1 }, removedFields: [], truncatedArrays: []`+paths+` } }`,
			`{ operationType: "rename", `+ofCollection+`ns: { db: "test", coll: "c" }, to: { db: "test", coll: "d" }`+described+` }`)
		got := expanded.read()
		for i, kind := range []string{"collection", "view", "timeseries"} {
			if i >= len(got) || strings.Contains(got[i], `, nsType: "`+kind+`" }`) != c.kinds || strings.Contains(got[i], "nsType") != c.kinds {
				t.Errorf("%s: %q, want a create of a %s", c.release, got, kind)
			}
		}
	}
}

// TestRawUpdateDescription checks showRawUpdateDescription: the update as the oplog has it, in place of
// updateDescription, also where a filter reads it.
func TestRawUpdateDescription(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{insert: "c", documents: [{_id: 1, a: {b: 1, c: [1, 2, 3]}, d: 1}]}`)
	for _, version := range []string{"", `, version: "v1"`, `, version: "v2"`} {
		s := c.watch("test", `"c"`, `{showRawUpdateDescription: true`+version+`}`)
		filtered := c.watch("test", `"c"`, `{showRawUpdateDescription: true}`, `{$match: {"rawUpdateDescription.diff.u.e": 2}}`)
		other := c.watch("test", `"c"`, `{}`, `{$match: {"updateDescription.updatedFields.e": 2}}`)
		c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {e: 1, "a.b": 2}, $unset: {d: 1}}}, {q: {_id: 1}, u: {$set: {e: 2}}}, {q: {_id: 1}, u: {_id: 1, a: {b: 1, c: [1, 2, 3]}, d: 1}}]}`)
		ns := `ns: { db: "test", coll: "c" }, documentKey: { _id: 1 }`
		second := `{ operationType: "update", ` + ns + `, rawUpdateDescription: { $v: 2, diff: { u: { e: 2 } } } }`
		s.expect(`{ operationType: "update", `+ns+`, rawUpdateDescription: { $v: 2, diff: { d: { d: false }, u: { e: 1 }, sa: { u: { b: 2 } } } } }`, second,
			`{ operationType: "replace", fullDocument: { _id: 1, a: { b: 1, c: [ 1, 2, 3 ] }, d: 1 }, `+ns+` }`)
		filtered.expect(second)
		other.expect(`{ operationType: "update", ` + ns + `, updateDescription: { updatedFields: { e: 2 }, removedFields: [], truncatedArrays: [] } }`)
	}
}
