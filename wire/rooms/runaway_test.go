package rooms

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
)

// Commands that cost much more than their maxRequestUnits are stopped within 5 % or 100 RU of it, on one partition and
// several, by both price lists, also in a cursor's getMore. The error has the amount that was charged.
func TestMaxRequestUnits(t *testing.T) {
	for _, prices := range []string{"normative", "mongo-2023"} {
		for _, sharded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s sharded=%v", prices, sharded), func(t *testing.T) { runaways(t, prices, sharded) })
		}
	}
}

func runaways(t *testing.T, prices string, sharded bool) {
	w := newWorld(t, nil)
	list, err := ratelimit.ParsePriceList(prices)
	if err != nil {
		t.Fatal(err)
	}
	w.Cluster.Budgets.Prices = list
	c := w.dial()
	if sharded {
		c.ok(`{shardCollection: "test.c", key: {k: "hashed"}, numInitialChunks: 4, $db: "admin"}`)
		c.ok(`{shardCollection: "test.w", key: {k: "hashed"}, numInitialChunks: 4, $db: "admin"}`)
	}
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	pad := strings.Repeat("x", 600)
	var docs []string
	for i := range 3000 {
		docs = append(docs, fmt.Sprintf(`{_id: %d, k: %d, a: %d, b: %d, pad: "%s"}`, i, i, i, i%7, pad))
	}
	all := strings.Join(docs, ", ")
	c.ok(`{insert: "c", documents: [` + all + `]}`)
	c.ok(`{createIndexes: "w", indexes: [{key: {n: 1}, name: "n"}]}`)
	many := strings.TrimSuffix(strings.Repeat(`{q: {b: 3}, u: {$inc: {x: 1}}, multi: true}, `, 20), ", ")
	numbers := make([]string, 4000)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	zoo := []string{
		`{find: "c", filter: {nothing: 1}}`,
		`{find: "c", filter: {nothing: 1}, sort: {b: 1}}`,
		`{find: "c", sort: {b: 1}, batchSize: 3000}`,
		`{find: "c", batchSize: 3000}`,
		`{find: "c"}`,
		`{find: "c", filter: {a: {$gte: 0}}, hint: "a", batchSize: 50}`,
		`{find: "c", filter: {pad: /y$/}}`,
		`{find: "c", filter: {$expr: {$eq: [{$add: ["$a", "$b"]}, -1]}}}`,
		`{find: "c", filter: {$or: [{a: {$gte: 0}}, {b: 1}]}, batchSize: 3000}`,
		`{find: "c", skip: 2990, sort: {b: 1}}`,
		`{count: "c", query: {nothing: 1}}`,
		`{distinct: "c", key: "pad"}`,
		`{aggregate: "c", pipeline: [{$match: {nothing: 1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$group: {_id: "$b", n: {$sum: 1}, pads: {$addToSet: "$pad"}}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$sort: {pad: 1, b: 1}}, {$limit: 5}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$lookup: {from: "c", localField: "a", foreignField: "a", as: "j"}}, {$match: {"j.b": 9}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$lookup: {from: "c", localField: "b", foreignField: "b", as: "j"}}, {$match: {"j.b": 9}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$lookup: {from: "c", let: {x: "$a"}, pipeline: [{$match: {$expr: {$gt: ["$a", "$$x"]}}}], as: "j"}}, {$match: {"j.b": 9}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$unionWith: "c"}, {$unionWith: "c"}, {$match: {nothing: 1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$graphLookup: {from: "c", startWith: "$a", connectFromField: "a", connectToField: "a", as: "g"}}, {$match: {"g.b": 9}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$facet: {a: [{$match: {nothing: 1}}], b: [{$sort: {b: 1}}, {$limit: 1}]}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$setWindowFields: {sortBy: {b: 1}, output: {s: {$sum: "$a", window: {documents: [-2, 2]}}}}}, {$match: {s: -1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$bucketAuto: {groupBy: "$a", buckets: 3}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$sample: {size: 2900}}, {$match: {nothing: 1}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$out: "o"}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$merge: "m"}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$match: {nothing: 1}}, {$merge: "m"}], cursor: {}}`,
		`{update: "c", updates: [{q: {}, u: {$inc: {n: 1}}, multi: true}]}`,
		`{update: "c", updates: [{q: {nothing: 1}, u: {$inc: {n: 1}}, multi: true}]}`,
		`{update: "c", updates: [{q: {nothing: 1}, u: {$inc: {n: 1}}}]}`,
		`{update: "c", updates: [` + many + `]}`,
		`{update: "c", updates: [` + many + `], ordered: false}`,
		`{delete: "c", deletes: [{q: {nothing: 1}, limit: 0}]}`,
		`{delete: "c", deletes: [{q: {b: {$lt: 7}, nothing: {$exists: false}}, limit: 0}]}`,
		`{findAndModify: "c", query: {nothing: 1}, update: {$set: {z: 1}}}`,
		`{insert: "w", documents: [` + all + `]}`,
		`{insert: "w", documents: [` + all + `], ordered: false}`,
		`{insert: "w", documents: [{_id: 1, k: 1, n: [` + strings.Join(numbers, ", ") + `]}]}`,
		`{insert: "w", documents: [{_id: 2, k: 1, pad: "` + strings.Repeat("y", 3<<20) + `"}]}`,
		`{bulkWrite: 1, $db: "admin", nsInfo: [{ns: "test.c"}], ops: [{update: 0, filter: {}, updateMods: {$inc: {n: 1}}, multi: true}]}`,
		`{bulkWrite: 1, $db: "admin", ordered: false, nsInfo: [{ns: "test.w"}], ops: [` + strings.ReplaceAll(all, "{_id", "{insert: 0, document: {_id") + `]}`,
	}
	zoo[len(zoo)-1] = strings.ReplaceAll(zoo[len(zoo)-1], `xx"}`, `xx"}}`)
	c.ok(`{insert: "c", documents: [{_id: "warm", k: 1}]}`)
	for _, command := range zoo {
		for _, limit := range []float64{3, 40} {
			c.ok(`{delete: "w", deletes: [{q: {}, limit: 0}]}`) // what the command before has inserted
			spent := 0.0
			charged := func() { spent += float64From(c.ok(`{getLastRequestStatistics: 1}`).Get("RequestCharge")) }
			r := c.run(strings.TrimSuffix(command, "}") + fmt.Sprintf(", maxRequestUnits: %v}", limit))
			charged()
			for r.Get("ok").Truthy() && number(at(r, "cursor.id")) != 0 {
				r = c.run(fmt.Sprintf(`{getMore: NumberLong("%d"), collection: "c"}`, number(at(r, "cursor.id"))))
				charged()
			}
			short := command[:min(len(command), 150)]
			if code := number(r.Get("code")); code != 8253 {
				t.Errorf("%s: code %d instead of 8253, at %v of %v RU: %.200v", short, code, spent, limit, r)
				continue
			}
			used := float64From(at(r, "errInfo.runaway.used"))
			if math.Abs(used-spent) > 0.011 {
				t.Errorf("%s: charged %v, and the error has %v", short, spent, used)
			}
			if used > limit+max(limit/20, 100) {
				t.Errorf("%s: stopped at %v RU, which may cost %v", short, used, limit)
			}
			if !r.Get("errorLabels").IsMissing() || float64From(at(r, "errInfo.runaway.limit")) != limit {
				t.Errorf("%s: %.300v", short, r)
			}
		}
	}
}

func float64From(v bson.Value) float64 { f, _ := v.AsFloat(); return f }

// The argument is checked as maxTimeMS is, belongs to the command that opens a cursor, and does not exist at the address of
// an account. A command below its cap is not changed; a transaction that is stopped is aborted, and not to be repeated.
func TestMaxRequestUnitsArgument(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}, {_id: 3}]}`)
	for arg, code := range map[string]int64{`"x"`: 14, `0`: 2, `-1`: 2, `{}`: 14, `1e10`: 2, `null`: 0, `1000`: 0, `NumberLong(1000)`: 0, `1000.5`: 0} {
		if r := c.run(`{find: "c", maxRequestUnits: ` + arg + `}`); number(r.Get("code")) != code {
			t.Errorf("%s: %v", arg, r)
		}
	}
	r := c.ok(`{find: "c", batchSize: 1, maxRequestUnits: 100}`)
	r = c.run(fmt.Sprintf(`{getMore: NumberLong("%d"), collection: "c", maxRequestUnits: 5}`, number(at(r, "cursor.id"))))
	if number(r.Get("code")) != 2 {
		t.Errorf("getMore: %v", r)
	}
	if r := c.run(`{explain: {find: "c", maxRequestUnits: 1}, verbosity: "executionStats"}`); number(r.Get("code")) != 8253 {
		t.Errorf("explain: %v", r)
	}
	var docs []string
	for i := range 200 {
		docs = append(docs, fmt.Sprintf(`{_id: %d}`, i))
	}
	if r := c.run(`{insert: "w", documents: [` + strings.Join(docs, ", ") + `], maxRequestUnits: 100}`); number(r.Get("code")) != 8253 {
		t.Errorf("insert: %v", r)
	}
	if n := number(c.ok(`{count: "w"}`).Get("n")); n < 5 || n > 40 {
		t.Errorf("%d documents of an insert that was stopped stay", n)
	}
	txn := `, lsid: {id: UUID("00000000-0000-4000-8000-000000000001")}, txnNumber: NumberLong(1), autocommit: false`
	c.ok(`{insert: "c", documents: [{_id: 4}], startTransaction: true` + txn + `}`)
	r = c.run(`{update: "c", updates: [{q: {}, u: {$set: {a: 1}}, multi: true}], maxRequestUnits: 9` + txn + `}`)
	if number(r.Get("code")) != 8253 && number(at(r, "writeErrors.0.code")) != 8253 || !r.Get("errorLabels").IsMissing() {
		t.Errorf("in a transaction: %v", r)
	}
	c.run(`{abortTransaction: 1, $db: "admin"` + txn + `}`)
	if r := c.ok(`{count: "c", query: {a: 1}}`); number(r.Get("n")) != 0 {
		t.Errorf("after a transaction that was stopped: %v", r)
	}
}
