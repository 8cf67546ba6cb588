package cases

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// explainer sends commands in Extended JSON and checks the replies.
type explainer struct {
	t    *testing.T
	conn *harness.Conn
}

func (e *explainer) run(cmd string) bson.Raw {
	e.t.Helper()
	var raw bson.Raw
	if err := bson.UnmarshalExtJSON([]byte(cmd), false, &raw); err != nil {
		e.t.Fatal(err)
	}
	reply, err := e.conn.Command("test", raw)
	if err != nil {
		e.t.Fatal(err)
	}
	if reply.Lookup("ok").Double() != 1 {
		e.t.Fatalf("%s: %s", cmd, reply)
	}
	return reply
}

// want compares one field of an explain reply, at a path, with the expected text.
func (e *explainer) want(reply bson.Raw, want string, path ...string) {
	e.t.Helper()
	v, err := reply.LookupErr(path...)
	got := "nothing"
	if err == nil {
		got = harness.Text(bson.D{{Key: "", Value: v}})
		got = got[len(`{"":`) : len(got)-1]
	}
	if got != want {
		e.t.Errorf("%v is %s, want %s in %s", path, got, want, reply)
	}
}

// TestExplainCounters runs commands under explain, and checks the counters in the replies and that writes are not
// executed.
// Manual: reference/explain-results
func TestExplainCounters(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	e.run(`{"insert": "c", "documents": [{"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 2, "b": 1}, {"_id": 3, "a": 3, "b": 2}]}`)
	e.run(`{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}`)

	r := e.run(`{"explain": {"find": "c", "filter": {"a": {"$gt": 1}}}, "verbosity": "executionStats"}`)
	e.want(r, `2`, "executionStats", "nReturned")
	e.want(r, `2`, "executionStats", "totalKeysExamined")
	e.want(r, `2`, "executionStats", "totalDocsExamined")
	e.want(r, `"FETCH"`, "queryPlanner", "winningPlan", "stage")
	e.want(r, `"IXSCAN"`, "queryPlanner", "winningPlan", "inputStage", "stage")
	e.want(r, `"a_1"`, "executionStats", "executionStages", "inputStage", "indexName")
	e.want(r, `"0"`, "shardInformation", "0", "shardKeyRangeId")

	r = e.run(`{"explain": {"find": "c", "filter": {"b": 1}}, "verbosity": "queryPlanner"}`)
	e.want(r, `nothing`, "executionStats")

	r = e.run(`{"explain": {"update": "c", "updates": [{"q": {"b": 1}, "u": {"$set": {"x": 1}}, "multi": true}]}, "verbosity": "executionStats"}`)
	e.want(r, `"UPDATE"`, "executionStats", "executionStages", "stage")
	e.want(r, `2`, "executionStats", "executionStages", "nWouldModify")

	r = e.run(`{"explain": {"delete": "c", "deletes": [{"q": {"b": 1}, "limit": 1}]}, "verbosity": "executionStats"}`)
	e.want(r, `1`, "executionStats", "executionStages", "nWouldDelete")

	r = e.run(`{"explain": {"count": "c", "query": {"a": {"$gte": 2}}}, "verbosity": "executionStats"}`)
	e.want(r, `2`, "executionStats", "executionStages", "nCounted")

	r = e.run(`{"explain": {"aggregate": "c", "pipeline": [{"$match": {"b": 1}}, {"$group": {"_id": "$a"}}], "cursor": {}}, "verbosity": "executionStats"}`)
	e.want(r, `3`, "executionStats", "totalDocsExamined")
	e.want(r, `2`, "executionStats", "nReturned")

	e.want(e.run(`{"count": "c"}`), `3`, "n")
	e.want(e.run(`{"count": "c", "query": {"x": 1}}`), `0`, "n")
}

// TestExplainExamined checks how many keys and documents a find examines: conditions are tested on the keys of the
// index where these suffice, and the documents of skipped rows are not fetched. It also checks the order of a sort by
// an array field.
// Manual: reference/explain-results
func TestExplainExamined(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	e.run(`{"insert": "c", "documents": [{"_id": 1, "a": 1, "s": "x1", "t": [3, 9], "w": {"k": 4}}, {"_id": 2, "a": 2, "s": "x2", "t": [5, 1], "w": {"k": 3}},
		{"_id": 3, "a": 3, "t": [], "w": {"k": 2}}, {"_id": 4, "a": 4, "s": "y2", "t": 2, "w": {"k": 1}}]}`)
	e.run(`{"createIndexes": "c", "indexes": [{"key": {"a": 1, "s": 1}, "name": "as"}, {"key": {"t": 1}, "name": "t_1"}, {"key": {"w.$**": 1}, "name": "w"}]}`)
	for _, c := range []struct{ find, keys, documents, rows string }{
		{`"filter": {"a": {"$gt": 0}, "s": {"$regex": "2$"}}, "hint": "as"`, `4`, `2`, `2`},
		{`"filter": {"a": {"$gt": 0}, "s": {"$ne": "x1"}, "t": 2}, "hint": "as"`, `4`, `3`, `1`},
		{`"filter": {"a": {"$gt": 0}, "s": {"$exists": true}}, "hint": "as"`, `4`, `4`, `3`},
		{`"filter": {"a": {"$gt": 0}, "$expr": {"$eq": [{"$type": "$s"}, "missing"]}}, "hint": "as"`, `4`, `1`, `1`},
		{`"sort": {"a": 1}, "skip": 3`, `4`, `1`, `1`},
		{`"sort": {"a": 1}, "limit": 3`, `3`, `3`, `3`},
		{`"sort": {"a": -1}, "skip": 1, "limit": 2`, `3`, `2`, `2`},
		{`"filter": {"a": {"$gt": 0}}, "projection": {"_id": 0, "a": 1}, "skip": 3`, `4`, `0`, `1`},
		{`"sort": {"t": 1}, "limit": 2`, `2`, `2`, `2`},
		{`"sort": {"t": -1}, "limit": 2`, `2`, `2`, `2`},
		{`"filter": {"w.k": {"$gt": 1}}, "sort": {"w.k": 1}, "limit": 1`, `1`, `1`, `1`},
	} {
		r := e.run(`{"explain": {"find": "c", ` + c.find + `}, "verbosity": "executionStats"}`)
		e.want(r, c.keys, "executionStats", "totalKeysExamined")
		e.want(r, c.documents, "executionStats", "totalDocsExamined")
		e.want(r, c.rows, "executionStats", "nReturned")
	}
	for sort, want := range map[string]string{`1`: `3 2 4 1`, `-1`: `1 2 4 3`} {
		r := e.run(`{"find": "c", "sort": {"t": ` + sort + `}, "limit": 4, "projection": {"_id": 1}}`)
		var ids []string
		rows, _ := r.Lookup("cursor", "firstBatch").Array().Values()
		for _, row := range rows {
			ids = append(ids, strconv.Itoa(int(row.Document().Lookup("_id").AsInt64())))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("sort {t: %s}: %s, want %s", sort, got, want)
		}
	}
}

// TestExplainBounds checks how many keys and documents a query examines with an index that serves it.
func TestExplainBounds(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	docs := make([]string, 100)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"_id": %d, "v": [{"a": %d, "b": %d}, {"a": %d, "b": 7}]}`, i, i%10, i/10, i%10+1)
	}
	e.run(`{"insert": "c", "documents": [` + strings.Join(docs, ", ") + `]}`)
	e.run(`{"createIndexes": "c", "indexes": [{"key": {"v.a": 1, "v.b": 1}, "name": "vab"}]}`)
	for _, c := range []struct{ filter, returned, keys, docs string }{
		{`{"v": {"$elemMatch": {"a": 5, "b": 2}}}`, `1`, `1`, `1`},
		{`{"v": {"$elemMatch": {"a": {"$gt": 9}}}}`, `10`, `10`, `10`},
		{`{"$or": [{"v": {"$elemMatch": {"a": 5, "b": 2}}}, {"v": {"$elemMatch": {"a": 5, "b": 3}}}]}`, `2`, `2`, `2`},
	} {
		r := e.run(`{"explain": {"find": "c", "filter": ` + c.filter + `}, "verbosity": "executionStats"}`)
		e.want(r, c.returned, "executionStats", "nReturned")
		e.want(r, c.keys, "executionStats", "totalKeysExamined")
		e.want(r, c.docs, "executionStats", "totalDocsExamined")
	}
}

// TestExplainTimeSeries checks how explain shows that a query reads a part of a time-series collection by time.
// Manual: core/timeseries/timeseries-querying
func TestExplainTimeSeries(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	e.run(`{"create": "s", "timeseries": {"timeField": "at", "metaField": "m"}}`)
	docs := make([]string, 100)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"_id": %d, "at": {"$date": {"$numberLong": "%d"}}, "m": %d}`, i, i*1000, i%5)
	}
	e.run(`{"insert": "s", "documents": [` + strings.Join(docs, ", ") + `]}`)
	at := func(s int) string { return fmt.Sprintf(`{"$date": {"$numberLong": "%d"}}`, s*1000) }
	for _, c := range []struct{ find, stage, from, to, keys, docs string }{
		{`"filter": {"at": {"$gte": ` + at(10) + `, "$lt": ` + at(20) + `}}`, `"CLUSTERED_IXSCAN"`, `00:10Z`, `00:19.999Z`, `0`, `10`},
		{`"filter": {"at": {"$gt": ` + at(89) + `}}, "sort": {"at": -1}`, `"CLUSTERED_IXSCAN"`, `01:29.001Z`, ``, `0`, `10`},
		{`"filter": {"at": {"$lte": ` + at(89) + `}, "m": 2}`, `"FETCH"`, ``, ``, `18`, `18`},
		{`"sort": {"at": -1}`, `"COLLSCAN"`, ``, ``, `0`, `100`},
		{`"sort": {"at": -1, "_id": 1}`, `"SORT"`, ``, ``, `0`, `100`},
	} {
		r := e.run(`{"explain": {"find": "s", ` + c.find + `}, "verbosity": "executionStats"}`)
		e.want(r, c.stage, "queryPlanner", "winningPlan", "stage")
		e.want(r, c.keys, "executionStats", "totalKeysExamined")
		e.want(r, c.docs, "executionStats", "totalDocsExamined")
		for field, time := range map[string]string{"minRecord": c.from, "maxRecord": c.to} {
			want := "nothing"
			if time != "" {
				want = `{"$date":"1970-01-01T00:` + time + `"}`
			}
			e.want(r, want, "queryPlanner", "winningPlan", field)
		}
	}
	r := e.run(`{"explain": {"find": "s", "sort": {"at": -1}, "limit": 1}, "verbosity": "executionStats"}`)
	e.want(r, `1`, "executionStats", "totalDocsExamined")
	e.want(r, `"backward"`, "queryPlanner", "winningPlan", "inputStage", "direction")
	r = e.run(`{"explain": {"count": "s", "query": {"at": {"$gte": ` + at(90) + `}}}, "verbosity": "executionStats"}`)
	e.want(r, `10`, "executionStats", "totalKeysExamined")
	e.want(r, `0`, "executionStats", "totalDocsExamined")
}

// TestExplainQuerySettings checks that plans use the indexes that query settings allow, that there is still a plan if
// these indexes do not exist, and that explain shows the settings.
func TestExplainQuerySettings(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	e.run(`{"insert": "c", "documents": [{"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 2, "b": 1}, {"_id": 3, "a": 3, "b": 2}]}`)
	e.run(`{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}, {"key": {"b": 1}, "name": "b_1"}]}`)
	set := func(query, allowed string) {
		e.run(`{"setQuerySettings": ` + query + `, "settings": {"indexHints": {"ns": {"db": "test", "coll": "c"}, "allowedIndexes": [` + allowed + `]}}, "$db": "admin"}`)
	}
	index := []string{"queryPlanner", "winningPlan", "inputStage", "indexName"}
	stage := []string{"queryPlanner", "winningPlan", "stage"}
	find := `{"find": "c", "filter": {"a": 1, "b": 2}`
	explain := func(rest string) bson.Raw {
		return e.run(`{"explain": ` + find + rest + `}, "verbosity": "queryPlanner"}`)
	}
	shape := find + `, "$db": "test"}`
	for _, c := range []struct {
		allowed string
		index   bool
		want    string
	}{
		{`"b_1"`, true, `"b_1"`},
		{`{"a": 1}`, true, `"a_1"`},
		{`"$natural"`, false, `"COLLSCAN"`},
		{`{"$natural": -1}`, false, `"COLLSCAN"`},
		{`"gone", "$natural"`, false, `"COLLSCAN"`},
		{`"gone"`, true, `"a_1"`}, // no plan is possible: the hint decides
	} {
		set(shape, c.allowed)
		r := explain(`, "hint": "a_1"`)
		path := stage
		if c.index {
			path = index
		}
		e.want(r, c.want, path...)
		e.want(r, "false", "queryPlanner", "indexFilterSet")
		e.want(r, `[`+strings.ReplaceAll(c.allowed, " ", "")+`]`, "queryPlanner", "querySettings", "indexHints", "0", "allowedIndexes")
	}

	set(shape, `"b_1"`)
	e.run(`{"setQuerySettings": ` + shape + `, "settings": {"reject": true}, "$db": "admin"}`)
	r := explain("") // the query is not rejected
	e.want(r, `"b_1"`, index...)
	e.want(r, "true", "queryPlanner", "querySettings", "reject")
	e.run(`{"removeQuerySettings": ` + shape + `, "$db": "admin"}`)
	r = explain(`, "hint": "a_1"`)
	e.want(r, `"a_1"`, index...)
	e.want(r, "nothing", "queryPlanner", "querySettings")

	pipeline := `{"aggregate": "c", "pipeline": [{"$match": {"a": 1, "b": 2}}], "cursor": {}`
	set(pipeline+`, "$db": "test"}`, `"b_1"`)
	e.want(e.run(`{"explain": `+pipeline+`}, "verbosity": "queryPlanner"}`), `"b_1"`, index...)
	distinct := `{"distinct": "c", "key": "a", "query": {"a": 1, "b": 2}`
	set(distinct+`, "$db": "test"}`, `"b_1"`)
	e.want(e.run(`{"explain": `+distinct+`}, "verbosity": "queryPlanner"}`), `"b_1"`, index...)
}

// TestExplainPartitions checks the plans of queries on sharded collections: the number of partitions that are read,
// and the stage that merges their rows.
func TestExplainPartitions(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	e.run(`{"shardCollection": "test.s", "key": {"k": "hashed"}, "numInitialChunks": 3}`)
	e.run(`{"insert": "s", "documents": [{"_id": 1, "k": 1}, {"_id": 2, "k": 2}, {"_id": 3, "k": 3}, {"_id": 4, "k": 4}]}`)
	for _, c := range []struct{ find, stage, parts string }{
		{`"filter": {"k": 1}`, `"SINGLE_SHARD"`, `1`},
		{`"filter": {"_id": 1}`, `"SHARD_MERGE"`, `3`},
		{`"sort": {"_id": 1}`, `"SHARD_MERGE_SORT"`, `3`},
	} {
		r := e.run(`{"explain": {"find": "s", ` + c.find + `}, "verbosity": "executionStats"}`)
		e.want(r, c.stage, "queryPlanner", "winningPlan", "stage")
		e.want(r, c.stage, "executionStats", "executionStages", "stage")
		shards, _ := r.Lookup("queryPlanner", "winningPlan", "shards").Array().Values()
		counted, _ := r.Lookup("shardInformation").Array().Values()
		if n := harness.Text(bson.D{{Key: "n", Value: len(shards)}}); n != `{"n":`+c.parts+`}` || len(counted) != len(shards) {
			t.Errorf("%s: %d shards in the plan, %d charged, want %s", c.find, len(shards), len(counted), c.parts)
		}
		if sum := r.Lookup("requestCharge").Double(); sum <= 0 {
			t.Errorf("%s cost %v", c.find, sum)
		}
	}
	r := e.run(`{"explain": {"aggregate": "s", "pipeline": [{"$group": {"_id": null, "n": {"$sum": 1}}}], "cursor": {}}, "verbosity": "queryPlanner"}`)
	e.want(r, `"router"`, "mergeType")
	e.want(r, `"GROUP"`, "shards", "p2", "queryPlanner", "winningPlan", "queryPlan", "stage")
	r = e.run(`{"explain": {"count": "s"}, "verbosity": "executionStats"}`)
	e.want(r, `"RECORD_STORE_FAST_COUNT"`, "queryPlanner", "winningPlan", "shards", "0", "winningPlan", "stage")
}

// TestExplainForms checks the stages of plans for which MongoDB has a form of its own: a count by the metadata of the
// collection, a read by _id with a projection, and a $group that is a part of the query. Each costs as much as the command.
// Manual: reference/explain-results, core/aggregation-pipeline-optimization
func TestExplainForms(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	e.run(`{"insert": "c", "documents": [{"_id": 1, "a": 1, "b": 1}, {"_id": 2, "a": 2, "b": 1}, {"_id": 3, "a": 3, "b": 2}]}`)
	e.run(`{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}`)
	for _, c := range []struct{ command, version, stage, below, keys, documents, rows, counted string }{
		{`"count": "c"`, `"1"`, `"RECORD_STORE_FAST_COUNT"`, `nothing`, `0`, `0`, `0`, `3`},
		{`"count": "c", "skip": 1, "limit": 5`, `"1"`, `"RECORD_STORE_FAST_COUNT"`, `nothing`, `0`, `0`, `0`, `2`},
		{`"count": "c", "query": {"a": 2}`, `"1"`, `"COUNT"`, `"COUNT_SCAN"`, `1`, `0`, `0`, `1`},
		{`"count": "c", "hint": "a_1"`, `"1"`, `"COUNT"`, `"COUNT_SCAN"`, `3`, `0`, `0`, `3`},
		{`"find": "c", "filter": {"_id": 2}`, `"1"`, `"EXPRESS_IXSCAN"`, `nothing`, `1`, `1`, `1`, `nothing`},
		{`"find": "c", "filter": {"_id": 2}, "projection": {"_id": 1}, "limit": 1`, `"1"`, `"EXPRESS_IXSCAN"`, `nothing`, `1`, `1`, `1`, `nothing`},
		{`"find": "c", "filter": {"_id": 2}, "projection": {"a": 0}`, `"1"`, `"EXPRESS_IXSCAN"`, `nothing`, `1`, `1`, `1`, `nothing`},
		{`"find": "c", "filter": {"_id": 2}, "projection": {"n": {"$add": ["$a", 1]}}`, `"1"`, `"PROJECTION_DEFAULT"`, `"EXPRESS_IXSCAN"`, `1`, `1`, `1`, `nothing`},
		{`"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": "$b", "n": {"$sum": "$a"}}}]`, `"2"`, `"GROUP"`, `"COLLSCAN"`, `0`, `3`, `2`, `nothing`},
		{`"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"a": {"$gt": 1}}}, {"$group": {"_id": "$b"}}]`, `"2"`, `"GROUP"`, `"FETCH"`, `2`, `2`, `2`, `nothing`},
		{`"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}]`, `"2"`, `"GROUP"`, `"RECORD_STORE_FAST_COUNT"`, `0`, `0`, `1`, `nothing`},
		{`"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": "$b"}}, {"$group": {"_id": null, "n": {"$sum": 1}}}]`, `"2"`, `"GROUP"`, `"GROUP"`, `0`, `3`, `1`, `nothing`},
	} {
		r := e.run(`{"explain": {` + c.command + `}, "verbosity": "executionStats"}`)
		plan := []string{"queryPlanner", "winningPlan"}
		if c.version == `"2"` {
			plan = append(plan, "queryPlan")
		}
		e.want(r, c.version, "explainVersion")
		e.want(r, c.stage, append(plan, "stage")...)
		e.want(r, c.below, append(plan, "inputStage", "stage")...)
		e.want(r, c.stage, "executionStats", "executionStages", "stage")
		e.want(r, c.below, "executionStats", "executionStages", "inputStage", "stage")
		e.want(r, c.keys, "executionStats", "totalKeysExamined")
		e.want(r, c.documents, "executionStats", "totalDocsExamined")
		e.want(r, c.rows, "executionStats", "nReturned")
		e.want(r, c.counted, "executionStats", "executionStages", "nCounted")
		cost := e.run(`{` + c.command + `, "comment": {"requestCharge": true}}`).Lookup("requestCharge").Double()
		if got := r.Lookup("requestCharge").Double(); got != cost || cost <= 0 {
			t.Errorf("%s: explain costs %v, the command %v", c.command, got, cost)
		}
	}
	r := e.run(`{"explain": {"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": "$b"}}, {"$sort": {"_id": 1}}]}, "verbosity": "executionStats"}`)
	e.want(r, `"GROUP"`, "stages", "0", "$cursor", "queryPlanner", "winningPlan", "queryPlan", "stage")
	e.want(r, `3`, "stages", "0", "$cursor", "executionStats", "totalDocsExamined")
	e.want(r, `2`, "stages", "1", "nReturned")
	r = e.run(`{"explain": {"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": "$a"}}]}, "verbosity": "executionStats"}`)
	e.want(r, `"DISTINCT_SCAN"`, "stages", "0", "$cursor", "queryPlanner", "winningPlan", "stage")
}

// TestExplainSkip checks that a find which skips most of a collection counts the skipped documents by the counters of the
// partitions: its scans step over few more documents than the reply has.
// Manual: reference/method/cursor.skip
func TestExplainSkip(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	e.run(`{"shardCollection": "test.four", "key": {"_id": "hashed"}, "numInitialChunks": 4}`)
	for _, c := range []struct {
		name  string
		where []string // the stage SKIP of the last partition
		works int64    // the most
		docs  int64    // the most: on several partitions documents are read ahead
	}{
		{"one", []string{"executionStats", "executionStages", "inputStage"}, 40, 5},
		{"four", []string{"executionStats", "executionStages", "shards", "3", "executionStages", "inputStage"}, 60, 20},
	} {
		e.run(`{"aggregate": 1, "pipeline": [{"$documents": {"$map": {"input": {"$range": [0, 3000]}, "in": {"_id": "$$this"}}}}, {"$merge": "` + c.name + `"}], "cursor": {}}`)
		r := e.run(`{"explain": {"find": "` + c.name + `", "skip": 2980, "limit": 5}, "verbosity": "executionStats"}`)
		e.want(r, `"SKIP"`, append(c.where, "stage")...)
		works, counted := scanned(r.Lookup("executionStats"))
		if works > c.works || counted != 2980 {
			t.Errorf("%s: %d works and %d counted documents: %s", c.name, works, counted, r)
		}
		if n, _ := r.Lookup("executionStats", "totalDocsExamined").AsInt64OK(); n > c.docs {
			t.Errorf("%s: %d documents examined", c.name, n)
		}
	}
}

// scanned adds up the works and the counted documents of all stages COLLSCAN in a value of explain output.
func scanned(v bson.RawValue) (works, counted int64) {
	doc, _ := v.DocumentOK()
	if list, ok := v.ArrayOK(); ok {
		doc = bson.Raw(list)
	}
	if name, _ := doc.Lookup("stage").StringValueOK(); name == "COLLSCAN" {
		works = doc.Lookup("works").AsInt64()
		counted, _ = doc.Lookup("nCounted").AsInt64OK()
	}
	values, _ := doc.Values()
	for _, v := range values {
		w, c := scanned(v)
		works, counted = works+w, counted+c
	}
	return works, counted
}
