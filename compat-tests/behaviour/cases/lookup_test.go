package cases

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestLookupExamines runs $lookup stages under explain, and checks how many keys and documents of the foreign collection
// they examine, how often they scan it, and what they join.
// Manual: reference/operator/aggregation/lookup
func TestLookupExamines(t *testing.T) {
	e := &explainer{t, harness.Start(t, harness.Options{}).Dial(t)}
	var rows, orders []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf(`{"_id": %d, "k": %d, "m": %d}`, i, i, 40+i%3))
		for j := range 50 {
			orders = append(orders, fmt.Sprintf(`{"_id": %d, "k": %d, "t": %d, "u": %d}`, i*50+j, i, (j*7)%50, i))
		}
	}
	e.run(`{"insert": "c", "documents": [` + strings.Join(rows, ",") + `]}`)
	e.run(`{"insert": "o", "documents": [` + strings.Join(orders, ",") + `]}`)
	e.run(`{"createIndexes": "o", "indexes": [{"key": {"k": 1, "t": -1}, "name": "k_t"}]}`)
	e.run(`{"create": "v", "viewOn": "o", "pipeline": [{"$match": {"t": {"$gte": 0}}}]}`)
	for _, c := range lookupCases {
		t.Run(c.name, func(t *testing.T) {
			e := &explainer{t, e.conn}
			stage := `{"$lookup": {"from": "` + c.from + `", "as": "r", ` + c.lookup + `}}`
			r := e.run(`{"explain": {"aggregate": "c", "pipeline": [` + stage + `], "cursor": {}}, "verbosity": "executionStats"}`)
			list, err := r.Lookup("stages").Array().Values()
			if err != nil {
				t.Fatal(err)
			}
			last := list[len(list)-1].Document()
			e.want(last, fmt.Sprint(c.keys), "totalKeysExamined")
			e.want(last, fmt.Sprint(c.docs), "totalDocsExamined")
			e.want(last, fmt.Sprint(c.scans), "collectionScans")
			e.want(last, c.indexes, "indexesUsed")
			r = e.run(`{"aggregate": "c", "pipeline": [` + stage + `, {"$unwind": "$r"}, {"$group": {"_id": null, "n": {"$sum": 1}, "t": {"$sum": "$r.t"}, "k": {"$sum": {"$abs": {"$subtract": ["$k", "$r.k"]}}}}}], "cursor": {}}`)
			if c.joined == "" {
				e.want(r, `[]`, "cursor", "firstBatch")
				return
			}
			var want bson.Raw
			if err := bson.UnmarshalExtJSON([]byte(c.joined), false, &want); err != nil {
				t.Fatal(err)
			}
			for _, f := range []string{"n", "t", "k"} {
				e.want(r, fmt.Sprint(want.Lookup(f).Int32()), "cursor", "firstBatch", "0", f)
			}
		})
	}
}

// lookupCase is one $lookup from a collection of 40 documents with k from 0 to 39. The foreign collection o has 50
// documents for each k, with t from 0 to 49, and an index on {k: 1, t: -1}; the view v has the same documents. joined
// holds the number of joined documents, the sum of their t, and the sum of the distances of their k.
type lookupCase struct {
	name, from, lookup string
	keys, docs, scans  int
	indexes, joined    string
}

var lookupCases = []lookupCase{
	{"equality", "o", `"localField": "k", "foreignField": "k"`,
		2000, 2000, 0, `["k_t"]`, `{"n": 2000, "t": 49000, "k": 0}`},
	{"match", "o", `"localField": "k", "foreignField": "k", "pipeline": [{"$match": {"t": {"$gte": 48}}}]`,
		80, 80, 0, `["k_t"]`, `{"n": 80, "t": 3880, "k": 0}`},
	{"newest", "o", `"localField": "k", "foreignField": "k", "pipeline": [{"$sort": {"t": -1}}, {"$limit": 1}]`,
		40, 40, 0, `["k_t"]`, `{"n": 40, "t": 1960, "k": 0}`},
	{"newest in a view", "v", `"localField": "k", "foreignField": "k", "pipeline": [{"$sort": {"t": -1}}, {"$limit": 1}]`,
		40, 40, 0, `["k_t"]`, `{"n": 40, "t": 1960, "k": 0}`},
	{"oldest below a bound", "o", `"localField": "k", "foreignField": "k", "pipeline": [{"$match": {"t": {"$lt": 10}}}, {"$sort": {"t": 1}}, {"$limit": 2}]`,
		80, 80, 0, `["k_t"]`, `{"n": 80, "t": 40, "k": 0}`},
	{"any", "o", `"localField": "k", "foreignField": "k", "pipeline": [{"$limit": 1}]`,
		40, 40, 0, `["k_t"]`, `{"n": 40, "t": 1960, "k": 0}`},
	{"count", "o", `"localField": "k", "foreignField": "k", "pipeline": [{"$count": "t"}]`,
		2000, 0, 0, `["k_t"]`, `{"n": 40, "t": 2000, "k": 0}`},
	{"without order", "o", `"localField": "k", "foreignField": "k", "pipeline": [{"$sort": {"u": -1, "t": -1}}, {"$limit": 1}]`,
		2000, 2000, 0, `["k_t"]`, `{"n": 40, "t": 1960, "k": 0}`},
	{"equality by $expr", "o", `"let": {"v": "$k"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$k", "$$v"]}}}]`,
		2000, 2000, 0, `["k_t"]`, `{"n": 2000, "t": 49000, "k": 0}`},
	{"equality by $expr in $and, beside a match", "o", `"let": {"v": "$k"}, "pipeline": [{"$match": {"t": {"$gte": 48}, "$expr": {"$and": [{"$eq": ["$$v", "$k"]}, {"$gte": ["$t", 49]}]}}}]`,
		40, 40, 0, `["k_t"]`, `{"n": 40, "t": 1960, "k": 0}`},
	{"newest by $expr", "o", `"let": {"v": "$k"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$k", "$$v"]}}}, {"$sort": {"t": -1}}, {"$limit": 1}]`,
		40, 40, 0, `["k_t"]`, `{"n": 40, "t": 1960, "k": 0}`},
	{"hash join", "o", `"localField": "k", "foreignField": "u"`,
		0, 6000, 3, `[]`, `{"n": 2000, "t": 49000, "k": 0}`},
	{"hash join by $expr, in a view", "v", `"let": {"v": "$k"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$u", "$$v"]}}}]`,
		0, 6000, 3, `[]`, `{"n": 2000, "t": 49000, "k": 0}`},
	{"hash join of what matches", "o", `"localField": "k", "foreignField": "u", "pipeline": [{"$match": {"k": {"$lt": 2}}}]`,
		300, 300, 0, `["k_t"]`, `{"n": 100, "t": 2450, "k": 0}`},
	{"missing collection", "none", `"localField": "k", "foreignField": "u"`,
		0, 0, 0, `[]`, ""},
}
