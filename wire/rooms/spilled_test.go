package rooms

import (
	"fmt"
	"strings"
	"testing"
)

// TestSpilled checks that explain, the profiler and serverStatus report the data that a stage spills to files; the
// profiler and serverStatus have the name of the stage in their fields.
func TestSpilled(t *testing.T) {
	w := newWorld(t, nil)
	w.Cluster.ScratchDir = t.TempDir()
	c := w.dial()
	for batch := range 10 {
		var docs []string
		for i := range 100 {
			docs = append(docs, fmt.Sprintf(`{_id: %d, a: %d, text: "%s"}`, batch*100+i, i*7919%1000, strings.Repeat("x", 400)))
		}
		c.ok(`{insert: "c", documents: [` + strings.Join(docs, ", ") + `]}`)
	}
	c.ok(`{setParameter: 1, internalQueryMaxBlockingSortMemoryUsageBytes: 100000, $db: "admin"}`)
	for _, x := range []struct{ name, cmd, at string }{
		{"sort", `{find: "c", sort: {a: 1}}`, "executionStats.executionStages"},
		{"sort", `{aggregate: "c", pipeline: [{$addFields: {b: {$add: ["$a", 1]}}}, {$sort: {b: 1}}, {$unwind: "$b"}], cursor: {}}`, "stages.2"},
		{"group", `{aggregate: "c", pipeline: [{$group: {_id: "$_id", all: {$push: "$text"}}}], cursor: {}}`, "executionStats.executionStages"},
		{"bucketAuto", `{aggregate: "c", pipeline: [{$bucketAuto: {groupBy: "$a", buckets: 3}}], cursor: {}}`, "stages.1"},
		{"setWindowFields", `{aggregate: "c", pipeline: [{$setWindowFields: {sortBy: {a: 1}, output: {n: {$sum: "$a"}}}}], cursor: {}}`, "stages.1"},
		{"lookup", `{aggregate: "one", pipeline: [{$lookup: {from: "c", pipeline: [], as: "all"}}, {$project: {_id: 1}}], cursor: {}}`, "stages.1"},
	} {
		c.ok(`{update: "one", updates: [{q: {_id: 1}, u: {}, upsert: true}]}`)
		before := spillsOf(c, x.name)
		stage, _ := at(c.ok(`{explain: `+x.cmd+`, verbosity: "executionStats"}`), x.at).Doc()
		for _, field := range []string{"spills", "spilledBytes", "spilledRecords", "spilledDataStorageSize", "peakTrackedMemBytes"} {
			if number(stage.Get(field)) <= 0 {
				t.Errorf("%s: no %s in %v", x.cmd, field, stage)
			}
		}
		if !stage.Get("usedDisk").Truthy() || number(stage.Get("peakTrackedMemBytes")) > 1<<20 {
			t.Errorf("%s: %v", x.cmd, stage)
		}
		if n := spillsOf(c, x.name) - before; n != number(stage.Get("spills")) {
			t.Errorf("%s: serverStatus counted %d spills, explain %v", x.cmd, n, stage.Get("spills"))
		}
		c.ok(`{profile: 2}`)
		c.ok(x.cmd)
		c.ok(`{profile: 0}`)
		filter := fmt.Sprintf(`{usedDisk: true, %sSpills: {$gt: 0}, %[1]sSpilledBytes: {$gt: 0}, %[1]sSpilledRecords: {$gt: 0}, %[1]sSpilledDataStorageSize: {$gt: 0}, peakTrackedMemBytes: {$gt: 0}}`, x.name)
		if n := number(c.ok(`{count: "system.profile", query: ` + filter + `}`).Get("n")); n != 1 {
			t.Errorf("%s: %d entries of the profiler tell of it: %v", x.cmd, n, c.ok(`{find: "system.profile"}`))
		}
		c.ok(`{drop: "system.profile"}`)
	}
}

// spillsOf returns how often the operators of a stage have spilled since the start of the server.
func spillsOf(c *client, stage string) int64 {
	metrics, _ := c.ok(`{serverStatus: 1}`).Get("metrics").Doc()
	return number(at(metrics, "query."+stage+".spills"))
}
