package rooms

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/release"
)

// TestMismatchHasNames checks the fields of the error of a command that expects another collection.
func TestMismatchHasNames(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{create: "c"}`)
	c.ok(`{create: "d"}`)
	uuid := uuidOf(c, "d")
	for _, cmd := range []string{`{find: "c"%s}`, `{aggregate: "c", pipeline: [], cursor: {}%s}`, `{drop: "c"%s}`, `{collMod: "c"%s}`, `{dropIndexes: "c", index: "*"%s}`} {
		r := c.run(fmt.Sprintf(cmd, `, collectionUUID: `+uuid))
		code, _ := r.Get("code").AsInt64()
		db, _ := r.Get("db").Str()
		expected, _ := r.Get("expectedCollection").Str()
		actual, _ := r.Get("actualCollection").Str()
		_, sent, _ := r.Get("collectionUUID").Binary()
		if code != 361 || db != "test" || expected != "c" || actual != "d" || uuidText(sent) != uuid {
			t.Errorf("%s: %v", cmd, r)
		}
	}
}

// TestMismatchHidesNames checks that the error names no collection on which the user may do nothing.
func TestMismatchHidesNames(t *testing.T) {
	_, root, reader := secured(t)
	root.ok(`{create: "d"}`)
	uuid := uuidOf(root, "d")
	root.ok(`{createRole: "c", privileges: [{resource: {db: "test", collection: "c"}, actions: ["find", "insert"]}], roles: []}`)
	for _, x := range [][2]string{{`["read"]`, `"d"`}, {`["c"]`, `null`}} {
		roles, want := x[0], x[1]
		root.ok(`{updateUser: "reader", roles: ` + roles + `}`)
		if got := reader.run(`{find: "c", collectionUUID: ` + uuid + `}`).Get("actualCollection").String(); got != want {
			t.Errorf("find with %s: %s", roles, got)
		}
	}
	errs, _ := reader.run(`{insert: "c", documents: [{_id: 9}], collectionUUID: ` + uuid + `}`).Get("writeErrors").Array()
	if got := errs.String(); !strings.Contains(got, "361") || strings.Contains(got, `actualCollection: "d"`) {
		t.Error(got)
	}
}

// TestReplacedCollectionIsNotWritten checks that a write with a collectionUUID never reaches a collection that gets
// the name while the write runs.
func TestReplacedCollectionIsNotWritten(t *testing.T) {
	w := newWorld(t, nil)
	c, other := w.dial(), w.dial()
	for range 100 {
		c.ok(`{create: "c"}`)
		uuid := uuidOf(c, "c")
		var replace sync.WaitGroup
		replace.Go(func() {
			other.ok(`{drop: "c"}`)
			other.ok(`{create: "c"}`)
		})
		for i := range 5 {
			c.run(fmt.Sprintf(`{insert: "c", documents: [{_id: %d}], collectionUUID: %s}`, i, uuid))
			c.run(fmt.Sprintf(`{update: "c", updates: [{q: {_id: 9}, u: {$set: {a: 1}}, upsert: true}], collectionUUID: %s}`, uuid))
			c.run(fmt.Sprintf(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}], collectionUUID: %s}`, uuid))
		}
		replace.Wait()
		n := number(c.ok(`{count: "c"}`).Get("n"))
		indexes, _ := at(c.ok(`{listIndexes: "c"}`), "cursor.firstBatch").Array()
		if n != 0 || indexes.Len() != 1 {
			t.Fatalf("%d documents and %d indexes in a collection that nothing was sent to", n, indexes.Len())
		}
		c.ok(`{drop: "c"}`)
	}
}

// uuidOf returns the UUID of a collection, as it is written in a command.
func uuidOf(c *client, name string) string {
	_, u, _ := at(c.ok(fmt.Sprintf(`{listCollections: 1, filter: {name: %q}}`, name)), "cursor.firstBatch.0.info.uuid").Binary()
	return uuidText(u)
}

func uuidText(u []byte) string {
	return fmt.Sprintf(`{$uuid: "%x-%x-%x-%x-%x"}`, u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// TestSeriesHasUUIDInOneNamespace checks which UUID belongs to the name of a time-series collection.
func TestSeriesHasUUIDInOneNamespace(t *testing.T) {
	for r, one := range map[release.Release]bool{release.V8_0: false, release.V9_0: true} {
		w := newWorld(t, nil)
		w.Release = r
		c := w.dial()
		c.ok(`{create: "t", timeseries: {timeField: "at"}}`)
		_, u, _ := at(c.ok(`{listCollections: 1, filter: {name: "t"}}`), "cursor.firstBatch.0.info.uuid").Binary()
		if (u != nil) != one {
			t.Fatalf("%s: the UUID of the collection is %x", r, u)
		}
		coll := w.Cluster.Catalog().Collection(collection.Namespace{DB: "test", Coll: "t"})
		uuid, want := uuidText(coll.UUID[:]), int64(361)
		if one {
			want = 0
		}
		for _, cmd := range []string{`{find: "t", collectionUUID: %s}`, `{delete: "t", deletes: [{q: {}, limit: 0}], collectionUUID: %s}`, `{collMod: "t", collectionUUID: %s}`} {
			reply := c.run(fmt.Sprintf(cmd, uuid))
			code := max(number(reply.Get("code")), number(at(reply, "writeErrors.0.code")))
			actual := text(reply.Get("actualCollection")) + text(at(reply, "writeErrors.0.actualCollection"))
			if code != want || !one && actual != "system.buckets.t" {
				t.Errorf("%s: %s: %v", r, cmd, reply)
			}
		}
		c.ok(fmt.Sprintf(`{find: "system.buckets.t", collectionUUID: %s}`, uuid))
		c.ok(fmt.Sprintf(`{find: "t", rawData: true, collectionUUID: %s}`, uuid))
	}
}
