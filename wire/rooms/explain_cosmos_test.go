package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/wire/command"
)

// TestCosmosExplain checks that, at the Cosmos address, the reply to explain has the fields of Azure Cosmos DB in
// addition to those of MongoDB, with figures that agree. Source: Azure Cosmos DB for MongoDB,
// "troubleshoot-query-performance".
func TestCosmosExplain(t *testing.T) {
	w := newWorld(t, nil)
	c, relaxed := w.dialAs(command.TagCosmos), w.dial()
	relaxed.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}, {key: {d: 1, e: 1}, name: "de"}, {key: {"w.$**": 1}, name: "w"},
		{key: {p: 1}, name: "p", partialFilterExpression: {p: {$gt: 5}}}]}`)
	docs := make([]string, 20)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{_id: %d, a: %d, b: %d, d: 1, e: 1, p: %d, w: {x: 1}, list: [{k: 1}]}`, i, i%4, i%2, i)
	}
	relaxed.ok(`{insert: "c", documents: [` + strings.Join(docs, ",") + `]}`)
	relaxed.ok(`{shardCollection: "test.s", key: {_id: "hashed"}, numInitialChunks: 3, $db: "admin"}`)
	relaxed.ok(`{insert: "s", documents: [` + strings.Join(docs, ",") + `]}`)
	for _, x := range []struct {
		command             string
		indexed, not        string
		retrieved, returned int64
		shards              int
	}{
		{`{find: "c", filter: {b: 1}}`, `[]`, `[ "b" ]`, 20, 10, 1},
		{`{find: "c", filter: {a: 1}}`, `[ "a" ]`, `[]`, 5, 5, 1},
		{`{find: "c", filter: {a: 1, b: 0}}`, `[ "a" ]`, `[ "b" ]`, 5, 0, 1},
		{`{find: "c", filter: {e: 1}}`, `[]`, `[ "e" ]`, 20, 20, 1},
		{`{find: "c", filter: {d: 1, e: 1}}`, `[]`, `[]`, 20, 20, 1},
		{`{find: "c", filter: {"w.x": 1}}`, `[ "w.x" ]`, `[]`, 20, 20, 1},
		{`{find: "c", filter: {p: 3}}`, `[]`, `[ "p" ]`, 20, 1, 1},
		{`{find: "c", filter: {p: 7}}`, `[ "p" ]`, `[]`, 1, 1, 1},
		{`{find: "c", filter: {list: {$elemMatch: {k: 2}}}}`, `[]`, `[ "list.k" ]`, 20, 0, 1},
		{`{find: "c"}`, `[]`, `[]`, 20, 20, 1},
		{`{count: "c", query: {a: 1}}`, `[ "a" ]`, `[]`, 0, 5, 1},
		{`{find: "s", filter: {b: 1}}`, `[]`, `[ "b" ]`, 20, 10, 3},
		{`{find: "none", filter: {b: 1}}`, `[]`, `[ "b" ]`, 0, 0, 0},
	} {
		r := c.ok(`{explain: ` + x.command + `, verbosity: {executionStatistics: true}}`)
		if got := at(r, "stages.0.details.indexUsage.pathsIndexed.individualIndexes").String(); got != x.indexed {
			t.Errorf("%s: indexed %s, want %s", x.command, got, x.indexed)
		}
		if got := at(r, "stages.0.details.indexUsage.pathsNotIndexed.individualIndexes").String(); got != x.not {
			t.Errorf("%s: not indexed %s, want %s", x.command, got, x.not)
		}
		m := "stages.0.details.queryMetrics."
		retrieved, returned := number(at(r, m+"retrievedDocumentCount")), number(at(r, m+"outputDocumentCount"))
		if retrieved != x.retrieved || returned != x.returned || number(at(r, "stages.0.out")) != x.returned {
			t.Errorf("%s: %d of %d, want %d of %d", x.command, returned, retrieved, x.returned, x.retrieved)
		}
		if number(at(r, "executionStats.totalDocsExamined")) != retrieved || r.Get("requestCharge").IsMissing() {
			t.Errorf("%s: MongoDB's figures are others: %v", x.command, r)
		}
		ratio := at(r, m+"indexHitRatio")
		if got, _ := ratio.AsFloat(); ratio.IsMissing() != (retrieved == 0) || retrieved > 0 && got != float64(returned)/float64(retrieved) {
			t.Errorf("%s: hit ratio %v", x.command, ratio)
		}
		list, _ := at(r, "stages.0.details.shardInformation").Array()
		shards := 0
		for v := range list.Values() {
			d, _ := v.Doc()
			retrieved -= number(d.Get("retrievedDocumentCount"))
			returned -= number(d.Get("outputDocumentCount"))
			shards++
		}
		if shards != x.shards || retrieved != 0 || returned != 0 && !strings.HasPrefix(x.command, "{count") {
			t.Errorf("%s: the partitions do not add up: %v", x.command, list)
		}
	}

	r := c.ok(`{explain: {find: "c", filter: {d: 1, e: 1}}, verbosity: {executionStatistics: true}}`)
	if got := at(r, "stages.0.details.indexUsage.pathsIndexed.compoundIndexes").String(); got != `[ "d", "e" ]` {
		t.Errorf("compound index: %s", got)
	}
	if total, _ := r.Get("totalRequestCharge").Double(); total < 2.5 || text(r.Get("ActivityId")) == "" || r.Get("retriedDueToRateLimiting").Truthy() {
		t.Errorf("the whole: %v", r)
	}
	doc := relaxed.ok(`{find: "c", filter: {_id: 3}}`)
	size := int64(len(at(doc, "cursor.firstBatch.0").Data))
	r = c.ok(`{explain: {find: "c", filter: {a: 3, b: 1, p: 3}}, verbosity: {executionStatistics: true}}`)
	if got := number(at(r, "stages.0.details.queryMetrics.outputDocumentSizeBytes")); got != size {
		t.Errorf("%d bytes, want %d", got, size)
	}
	r = c.ok(`{explain: {find: "c", filter: {_id: 3}}, verbosity: {executionStatistics: true}}`)
	if total, _ := r.Get("totalRequestCharge").Double(); text(at(r, "stages.0.stage")) != "$pointLookup" || number(at(r, "stages.0.details.items.0.id")) != 3 ||
		number(at(r, "stages.0.dependency.bytes")) != size || total != 1 {
		t.Errorf("a point read: %v", r)
	}

	r = c.ok(`{explain: {find: "c", filter: {b: 1}}, verbosity: {executionStatistics: false}}`)
	if text(at(r, "stages.0.stage")) != "$query" || !at(r, "stages.0.details.queryMetrics").IsMissing() || !r.Get("executionStats").IsMissing() {
		t.Errorf("a plan alone: %v", r)
	}
	if got := c.code(`{explain: {find: "c"}, verbosity: {other: true}}`); got != 2 {
		t.Errorf("another name: %d", got)
	}
	if got := relaxed.code(`{explain: {find: "c"}, verbosity: {executionStatistics: true}}`); got != 14 {
		t.Errorf("on MongoDB's address: %d", got)
	}
	if r := relaxed.ok(`{explain: {find: "c"}, verbosity: "executionStats"}`); !r.Get("stages").IsMissing() {
		t.Errorf("on MongoDB's address: %v", r)
	}
}
