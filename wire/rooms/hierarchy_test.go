package rooms

import (
	"fmt"
	"strings"
	"testing"
)

// Queries that fix the leading levels of a hierarchical key read only the documents of
// that prefix, on the partitions that hold it: one, until the prefix is divided.
// Source: Azure Cosmos DB, "hierarchical-partition-keys".
func TestHierarchicalPrefixes(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{shardCollection: "test.c", key: {tenant: "hashed", user: "hashed", session: "hashed"}, numInitialChunks: 64}`)
	var docs []string
	for i := range 600 {
		docs = append(docs, fmt.Sprintf(`{_id: %d, tenant: "t%d", user: "u%d", session: %d}`, i, i%6, i/6%10, i))
	}
	c.ok(`{insert: "c", documents: [` + strings.Join(docs, ", ") + `]}`)
	expect := func(filter string, visits, examined, returned int64) {
		t.Helper()
		for _, command := range []string{`{find: "c", filter: %s}`, `{update: "c", updates: [{q: %s, u: {$set: {x: 1}}, multi: true}]}`} {
			r := c.ok(`{explain: ` + fmt.Sprintf(command, filter) + `, verbosity: "executionStats"}`)
			visited, _ := r.Get("shardInformation").Array()
			n := int64(0)
			for range visited.Values() {
				n++
			}
			if got := number(at(r, "executionStats.totalDocsExamined")); n != visits || got < examined || got > examined+10 { // hashes of levels have 16 bits, so two may be equal
				t.Errorf("%s of %s: %d partitions and %d documents, want %d and %d", command[:8], filter, n, got, visits, examined)
			}
		}
		if got := number(c.ok(`{count: "c", query: ` + filter + `}`).Get("n")); got != returned {
			t.Errorf("%s: %d documents, want %d", filter, got, returned)
		}
	}
	expect(`{tenant: "t3"}`, 1, 100, 100)
	expect(`{tenant: "t3", user: "u4"}`, 1, 10, 10)
	expect(`{tenant: "t3", user: "u4", session: 27}`, 1, 1, 1)
	expect(`{tenant: "t3", user: {$in: ["u4", "u5", "none"]}}`, 1, 20, 20)
	expect(`{tenant: "t3", user: {$gt: "u7"}}`, 1, 100, 20)
	expect(`{tenant: "t3", session: 27}`, 1, 100, 1) // the middle level is not fixed
	expect(`{user: "u4"}`, 64, 600, 60)
	expect(`{user: "u4", session: 27}`, 64, 600, 1)
	expect(`{tenant: null}`, 1, 0, 0)
	// A heavy tenant is divided below its first level.
	r := c.ok(`{find: "chunks", $db: "config", sort: {min: 1}}`)
	if n := number(c.ok(`{count: "chunks", $db: "config"}`).Get("n")); n != 64 || at(r, "cursor.firstBatch.1.min.session").IsMissing() {
		t.Fatalf("%d partitions: %v", n, r)
	}
	for range 12 {
		c.ok(`{split: "test.c", find: {tenant: "t3", user: "u4", session: 27}, $db: "admin"}`)
	}
	expect(`{tenant: "t3", user: "u4", session: 27}`, 1, 1, 1)
	if n := number(c.ok(`{count: "c", query: {tenant: "t3"}}`).Get("n")); n != 100 {
		t.Errorf("%d documents of the tenant after splits", n)
	}
}
