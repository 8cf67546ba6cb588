package rooms

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
)

// sized returns a document, as Extended JSON, that has the given fields and takes exactly the given number of bytes
// as BSON.
func sized(t testing.TB, bytes int, fields string) string {
	t.Helper()
	with := func(pad int) string { return "{" + fields + `, pad: "` + strings.Repeat("x", pad) + `"}` }
	empty := bsontest.Doc(t, with(0))
	return with(bytes - len(empty))
}

// charge returns the charge of the client's last command.
func (c *client) charge() float64 {
	c.w.t.Helper()
	ru, _ := c.ok(`{getLastRequestStatistics: 1}`).Get("RequestCharge").AsFloat()
	return ru
}

// costs runs a command, which must succeed, and compares its charge with the expected one, in RU.
func (c *client) costs(name string, want float64, command string) {
	c.w.t.Helper()
	c.ok(command)
	if got := c.charge(); got != want {
		c.w.t.Errorf("%s: %v RU, want %v", name, got, want)
	}
}

// When the first script of a command loads the functions stored in system.js, it is charged as much as a read of
// these documents.
func TestChargesOfStoredFunctions(t *testing.T) {
	w := newWorld(t, nil)
	w.JavaScript = true
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	c.ok(`{find: "c", filter: {$where: "true"}}`)
	without := c.charge()
	c.ok(`{insert: "system.js", documents: [` + sized(t, 100*kb, `_id: "f", value: "x"`) + `]}`)
	c.ok(`{find: "system.js"}`)
	read := c.charge()
	c.ok(`{find: "c", filter: {$where: "true"}}`)
	if got := c.charge(); read < 5 || math.Abs(got-without-read) > 0.1 {
		t.Errorf("%v RU without functions, %v with one whose reading costs %v", without, got, read)
	}
	c.ok(`{find: "c"}`)
	if got := c.charge(); got > without {
		t.Errorf("%v RU without a script", got)
	}
}

// The writes of $out, $merge and mapReduce belong to the charge of their command, and to its operationTime.
func TestChargesOfOutput(t *testing.T) {
	w := newWorld(t, nil)
	w.JavaScript = true
	c := w.dial()
	var docs []string
	for i := range 50 {
		docs = append(docs, fmt.Sprintf(`{_id: %d}`, i))
	}
	c.ok(`{insert: "from", documents: [` + strings.Join(docs, ", ") + `]}`)
	insert := c.charge()
	for name, command := range map[string]string{
		"out":       `{aggregate: "from", pipeline: [{$out: "o"}], cursor: {}}`,
		"merge":     `{aggregate: "from", pipeline: [{$merge: "m"}], cursor: {}}`,
		"mapReduce": `{mapReduce: "from", map: "function() { emit(this._id, 1) }", reduce: "function(k, v) { return 1 }", out: "r"}`,
	} {
		r := c.ok(command)
		if got := c.charge(); got < insert {
			t.Errorf("%s: %v RU, less than the %v of an insert of as many documents", name, got, insert)
		}
		if got, want := timeOf(r.Get("operationTime")), w.Cluster.Latest(); got < want {
			t.Errorf("%s: operationTime %v, before the last commit %v", name, got, want)
		}
	}
}

const kb = 1024

// Reads by key and inserts cost the published prices. Source: the price list, rules R1 and R4.
func TestChargesBySize(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{createIndexes: "t2", indexes: [{key: {a: 1}, name: "a"}]}`)
	for i, x := range []struct {
		bytes         int
		insert, point float64 // insert with T = 1
	}{
		{kb / 5, 5.40, 1}, {kb, 5.40, 1}, {2 * kb, 5.85, 1.09}, {4 * kb, 6.76, 1.27}, {10 * kb, 9.49, 1.82}, {100 * kb, 50.40, 10},
		{1 << 20, 470.40, 94}, {16 << 20, 7452.22, 1490.36},
	} {
		c.costs(fmt.Sprintf("insert of %d bytes", x.bytes), x.insert, `{insert: "c", documents: [`+sized(t, x.bytes, fmt.Sprintf("_id: %d", i))+`]}`)
		c.costs(fmt.Sprintf("read of %d bytes", x.bytes), x.point, fmt.Sprintf(`{find: "c", filter: {_id: %d}}`, i))
	}
	c.costs("nothing found", 1, `{find: "c", filter: {_id: 99}}`)
	for bytes, want := range map[int]float64{4 * kb: 7.16, 10 * kb: 9.89, 100 * kb: 50.80, 2 << 20: 936.25} {
		c.costs(fmt.Sprintf("insert of %d bytes, two terms", bytes), want, `{insert: "t2", documents: [`+sized(t, bytes, fmt.Sprintf("_id: %d, a: 1", bytes))+`]}`)
	}
	for terms, want := range map[int]float64{1: 5.40, 2: 5.80, 5: 7, 12: 9.80, 25: 15} {
		coll := fmt.Sprintf("terms%d", terms)
		c.ok(`{createIndexes: "` + coll + `", indexes: [{key: {a: 1}, name: "a", sparse: true}]}`)
		field := "b: 1"
		if terms > 1 {
			values := make([]string, terms-1)
			for i := range values {
				values[i] = fmt.Sprint(i)
			}
			field = "a: [" + strings.Join(values, ",") + "]"
		}
		c.costs(fmt.Sprintf("insert with %d terms", terms), want, `{insert: "`+coll+`", documents: [`+sized(t, kb, "_id: 1, "+field)+`]}`)
	}
}

// A field costs the same to write in a single-field, compound, wildcard and text index: an entry of a wildcard index
// contains a path and a value, one of a text index a term and its weight, and each is charged as one field. Source:
// the price list, rule R4.
func TestChargesByKindOfIndex(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{createIndexes: "single", indexes: [{key: {a: 1}, name: "a"}, {key: {b: 1}, name: "b"}, {key: {c: 1}, name: "c"}, {key: {d: 1}, name: "d"}, {key: {e: 1}, name: "e"}]}`)
	c.ok(`{createIndexes: "wildcard", indexes: [{key: {"$**": 1}, name: "all"}]}`)
	c.ok(`{createIndexes: "below", indexes: [{key: {"x.$**": 1}, name: "below"}]}`)
	c.ok(`{createIndexes: "compound", indexes: [{key: {a: 1, b: 1, c: 1, d: 1, e: 1}, name: "abcde"}]}`)
	c.ok(`{createIndexes: "compoundWildcard", indexes: [{key: {a: 1, "x.$**": 1}, name: "a_below"}]}`)
	c.ok(`{createIndexes: "text", indexes: [{key: {a: "text"}, name: "words"}]}`)
	five := "a: 1, b: 2, c: 3, d: 4, e: 5"
	for _, x := range []struct {
		coll, doc string
		insert    float64
	}{
		{"single", five, 7.40}, {"wildcard", five, 7.40}, {"below", "x: {" + five + "}", 7.40}, {"compound", five, 7.40},
		{"compoundWildcard", "a: 1, x: {b: 2, c: 3}", 7.00}, {"text", `a: "brown quick fox"`, 6.60},
	} {
		c.costs(x.coll, x.insert, `{insert: "`+x.coll+`", documents: [{_id: 1, `+x.doc+`}]}`)
	}
	c.costs("an update under a wildcard index", 10.80, `{update: "wildcard", updates: [{q: {_id: 1}, u: {$set: {a: 7}}}]}`)
	c.costs("a delete under a wildcard index", 7.40, `{delete: "wildcard", deletes: [{q: {_id: 1}, limit: 1}]}`)
}

// Writes by key and by query cost the published prices; a write by key does not pay for finding the document.
// Source: the price list, rules R4 to R7 and R12.
func TestChargesOfWrites(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	doc := func(id, a, b int) string { return sized(t, kb, fmt.Sprintf("_id: %d, a: %d, b: %d", id, a, b)) }
	grown := strings.Repeat("x", 3*kb-1-4-4-1)
	for _, x := range []struct {
		name, command string
		want          float64
	}{
		{"insert, two terms", `{insert: "c", documents: [` + doc(1, 1, 1) + `]}`, 5.80},
		{"duplicate key", `{insert: "c", documents: [` + doc(1, 1, 1) + `]}`, 5},
		{"no indexed field changed", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 2}}}]}`, 10},
		{"one indexed field changed", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 2}}}]}`, 10.80},
		{"by key with multi", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 9}}, multi: true}]}`, 10},
		{"found by an index", `{update: "c", updates: [{q: {a: 2}, u: {$set: {b: 3}}}]}`, 12.55},
		{"nothing modified", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 3}}}]}`, 1},
		{"nothing to update", `{update: "c", updates: [{q: {_id: 2}, u: {$set: {b: 3}}}]}`, 1},
		{"nothing to update in an index", `{update: "c", updates: [{q: {a: 77}, u: {$set: {b: 3}}}]}`, 2.50},
		{"replacement, one term", `{update: "c", updates: [{q: {_id: 1}, u: ` + doc(1, 3, 3) + `}]}`, 10.80},
		{"replacement by query", `{update: "c", updates: [{q: {a: 3}, u: ` + doc(1, 4, 3) + `}]}`, 13.35},
		{"pipeline", `{update: "c", updates: [{q: {_id: 1}, u: [{$set: {b: 4}}]}]}`, 10},
		{"findAndModify", `{findAndModify: "c", query: {_id: 1}, update: {$set: {b: 5}}, new: true}`, 10},
		{"findAndModify by query", `{findAndModify: "c", query: {a: 4}, update: {$set: {b: 6}}}`, 12.55},
		{"grows to 4 KB", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {z: "` + grown + `"}}}]}`, 11.36},
		{"shrinks again", `{update: "c", updates: [{q: {_id: 1}, u: {$unset: {z: 1}}}]}`, 11.36},
		{"upsert that updates", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 7}}, upsert: true}]}`, 10},
		{"upsert that inserts", `{update: "c", updates: [{q: {_id: 5}, u: ` + doc(5, 9, 9) + `, upsert: true}]}`, 5.80},
		{"upsert that inserts, by query", `{update: "c", updates: [{q: {a: 50}, u: {$set: ` + strings.Replace(sized(t, kb-1-2-4-4-1-3-12, "b: 1"), "{", "{_id: 6, ", 1) + `}, upsert: true}]}`, 8.30},
		{"findAndModify that inserts", `{findAndModify: "c", query: {_id: 8}, update: ` + doc(8, 8, 8) + `, upsert: true}`, 5.80},
		{"findAndModify that removes", `{findAndModify: "c", query: {_id: 8}, remove: true}`, 5.80},
		{"nothing to remove", `{findAndModify: "c", query: {_id: 8}, remove: true}`, 1},
		{"delete by query", `{delete: "c", deletes: [{q: {a: 9}, limit: 1}]}`, 8.35},
		{"delete", `{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`, 5.80},
		{"nothing to delete", `{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`, 1},
	} {
		c.costs(x.name, x.want, x.command)
	}
	c.ok(`{create: "checked", validator: {a: {$gt: 0}}}`)
	c.costs("document validation failure", 5, `{insert: "checked", documents: [{a: 0}]}`)
	c.ok(`{createIndexes: "unique", indexes: [{key: {a: 1}, name: "a", unique: true}]}`)
	c.ok(`{insert: "unique", documents: [{_id: 1, a: 1}, {_id: 2, a: 2}]}`)
	c.costs("duplicate in an index", 5, `{insert: "unique", documents: [{_id: 3, a: 1}]}`)
	c.costs("update that makes a duplicate", 5, `{update: "unique", updates: [{q: {_id: 1}, u: {$set: {a: 2}}}]}`)
}

// A statement of a transaction that fails with a write conflict is charged as a failure, and a commit costs nothing.
// Source: the price list, rules R10 and R12.
func TestChargesOfTransactions(t *testing.T) {
	w := newWorld(t, nil)
	c, other := w.dial(), w.dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	txn := lsid + `, txnNumber: {$numberLong: "1"}, autocommit: false`
	charge := func() float64 {
		ru, _ := c.ok(`{getLastRequestStatistics: 1, ` + lsid + `}`).Get("RequestCharge").AsFloat()
		return ru
	}
	sum := 0.0
	for i := range 3 {
		start := ""
		if i == 0 {
			start = "startTransaction: true, "
		}
		c.ok(`{insert: "c", documents: [` + sized(t, kb, fmt.Sprintf("_id: %d, a: 1", i)) + `], ` + start + txn + `}`)
		sum += charge()
	}
	c.ok(`{find: "c", filter: {_id: 1}, ` + txn + `}`)
	if sum += charge(); sum < 18.395 || sum > 18.405 {
		t.Errorf("three inserts and a read: %v RU, want 18.40", sum)
	}
	c.ok(`{commitTransaction: 1, $db: "admin", ` + txn + `}`)
	if ru := charge(); ru != 0 {
		t.Errorf("the commit: %v RU", ru)
	}
	txn = lsid + `, txnNumber: {$numberLong: "2"}, autocommit: false`
	c.ok(`{find: "c", filter: {_id: 0}, startTransaction: true, ` + txn + `}`)
	other.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 1}}}]}`)
	if code := c.code(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 2}}}], ` + txn + `}`); code != 112 {
		t.Fatalf("code %d, want a write conflict", code)
	}
	if ru := charge(); ru != 5 {
		t.Errorf("the conflict: %v RU, want 5", ru)
	}
}

// Queries cost the published prices. Source: the price list, rules R2, R3, R8, R9.
func TestChargesOfQueries(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	for _, partitions := range []int{1, 4, 5, 10} {
		coll := fmt.Sprintf("c%d", partitions)
		c.ok(`{createIndexes: "` + coll + `", indexes: [{key: {a: 1}, name: "a"}, {key: {g: 1}, name: "g"}]}`)
		if partitions > 1 {
			c.ok(fmt.Sprintf(`{shardCollection: "test.%s", key: {_id: "hashed"}, numInitialChunks: %d, $db: "admin"}`, coll, partitions))
		}
		for i := range 10 {
			docs := make([]string, 100)
			for j := range docs {
				n := i*100 + j
				docs[j] = sized(t, kb, fmt.Sprintf("_id: %d, a: %d, g: %d, h: %d", n, n/10, n/500, n/10))
			}
			c.ok(`{insert: "` + coll + `", documents: [` + strings.Join(docs, ",") + `]}`)
		}
	}
	values := make([]string, 20)
	for i := range values {
		values[i] = fmt.Sprint(i * 10)
	}
	in := "[" + strings.Join(values, ", ") + "]"
	for _, x := range []struct {
		name, command string
		want          float64
	}{
		{"ten documents", `{find: "c1", filter: {a: 3}}`, 3.58},
		{"ten documents of four partitions", `{find: "c4", filter: {a: 3}}`, 11.08},
		{"no match in ten partitions", `{find: "c10", filter: {a: -1}}`, 25},
		{"an unindexed scan", `{find: "c1", filter: {h: 3}}`, 50.60},
		{"an unindexed scan of four partitions", `{find: "c4", filter: {h: 3}}`, 58.10},
		{"a computed test of all", `{find: "c1", filter: {$expr: {$eq: ["$h", 3]}}}`, 69.60},
		{"$in of twenty values", `{find: "c1", filter: {_id: {$in: ` + in + `}}}`, 9.40},
		{"count from an index", `{count: "c1", query: {a: {$gte: 0}}}`, 7.50},
		{"count by loading", `{count: "c1", query: {h: {$gte: 0}}}`, 50},
		{"count of everything", `{count: "c4"}`, 10},
		{"$group of 500", `{aggregate: "c1", pipeline: [{$match: {g: 0}}, {$group: {_id: null, n: {$sum: "$h"}}}], cursor: {}}`, 26.25},
		{"$group of 500 in five partitions", `{aggregate: "c5", pipeline: [{$match: {g: 0}}, {$group: {_id: null, n: {$sum: "$h"}}}], cursor: {}}`, 36.28},
		{"strong is for others", `{find: "c1", filter: {a: 3}, readConcern: {level: "majority"}}`, 3.58},
	} {
		c.costs(x.name, x.want, x.command)
	}
	for i := range 20 {
		c.ok(fmt.Sprintf(`{insert: "other", documents: [%s]}`, sized(t, kb, fmt.Sprintf("_id: %d, k: %d", 5000+i, i))))
	}
	c.ok(`{createIndexes: "other", indexes: [{key: {k: 1}, name: "k"}]}`)
	// The charge is 3.45 RU for the inputs of the $lookup and about 2.61 RU for each of its twenty queries, although
	// they run in batches; the last digits are the bytes of the result.
	join := func(from, foreign string) string {
		return `{aggregate: "c1", pipeline: [{$match: {a: {$gte: 0, $lt: 2}}}, {$lookup: {from: "` + from + `", localField: "_id", foreignField: "` + foreign +
			`", as: "x"}}, {$project: {_id: 0, n: {$size: "$x"}}}], cursor: {}}`
	}
	c.costs("$lookup", 55.61, join("other", "k"))
	// If the foreign field is the _id, each query of the $lookup is a point read of one partition.
	c.costs("$lookup by _id", 23.46, join("c4", "_id"))
	c.costs("$lookup by _id of one partition", 23.46, join("c1", "_id"))
	w.ChargeStrongReads = true
	c.costs("strong", 7.15, `{find: "c1", filter: {a: 3}, readConcern: {level: "majority"}}`)
	c.costs("strong read by key", 2, `{find: "c1", filter: {_id: 3}, readConcern: {level: "linearizable"}}`)
	w.ChargeStrongReads = false
	c.costs("updateMany", 1087.25, `{update: "c1", updates: [{q: {a: {$gte: 10, $lt: 20}}, u: {$inc: {a: 1000}}, multi: true}]}`)
}

// TestChargeIsDeterministic checks that a read has the same charge each time it is repeated on unchanged data, whatever
// was read ahead.
func TestChargeIsDeterministic(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{shardCollection: "test.c", key: {_id: "hashed"}, numInitialChunks: 8, $db: "admin"}`)
	for i := range 10 {
		docs := make([]string, 200)
		for j := range docs {
			docs[j] = fmt.Sprintf(`{_id: %d, a: %d, b: %d}`, i*200+j, j, i)
		}
		c.ok(`{insert: "c", documents: [` + strings.Join(docs, ",") + `]}`)
	}
	for _, command := range []string{
		`{find: "c", limit: 40}`,
		`{find: "c", filter: {a: {$gt: 5}}, limit: 300, batchSize: 300}`,
		`{find: "c", filter: {b: 3}, sort: {a: 1}, limit: 90}`,
		`{find: "c", batchSize: 10}`,
		`{aggregate: "c", pipeline: [{$match: {a: {$lt: 50}}}, {$limit: 60}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$group: {_id: "$b", n: {$sum: 1}}}], cursor: {}}`,
		`{distinct: "c", key: "b"}`,
	} {
		c.ok(command)
		first := c.charge()
		for range 40 {
			c.ok(command)
			if again := c.charge(); again != first {
				t.Errorf("%s: %v RU, and then %v", command, first, again)
				break
			}
		}
	}
	// The trial by which the server chooses a plan is free, and the charge does not depend on whether a trial ran
	// before.
	c.ok(`{createIndexes: "p", indexes: [{key: {a: 1}, name: "a"}, {key: {b: 1}, name: "b"}]}`)
	docs := make([]string, 500)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{_id: %d, a: %d, b: %d}`, i, i%50, i%7)
	}
	c.ok(`{insert: "p", documents: [` + strings.Join(docs, ",") + `]}`)
	c.ok(`{find: "p", filter: {a: 3, b: 3}, batchSize: 200}`)
	first := c.charge()
	for range 5 {
		c.costs("the same again", first, `{find: "p", filter: {a: 3, b: 3}, batchSize: 200}`)
	}
}

// explain returns the estimated and the actual charge of a read with their items. The items add up, and the estimate
// is equal to the charge if it can be computed.
func TestExplainCharges(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	c.ok(`{shardCollection: "test.c", key: {_id: "hashed"}, numInitialChunks: 4, $db: "admin"}`)
	for i := range 4 {
		docs := make([]string, 100)
		for j := range docs {
			docs[j] = sized(t, kb, fmt.Sprintf("_id: %d, a: %d, h: %d", i*100+j, j, j%10))
		}
		c.ok(`{insert: "c", documents: [` + strings.Join(docs, ",") + `]}`)
	}
	for _, x := range []struct {
		command    string
		writing    float64 // part of the estimate that is not charged, because explain writes nothing
		bill       float64
		partitions int
	}{
		{`{find: "c", filter: {_id: 5}}`, 0, 1, 1},
		{`{find: "c", filter: {h: 3}}`, 0, 31.40, 4},
		{`{find: "c", filter: {a: 7}}`, 0, 10.43, 4},
		{`{count: "c", query: {a: {$gte: 0}}}`, 0, 12, 4},
		{`{aggregate: "c", pipeline: [{$match: {h: 3}}], cursor: {}}`, 0, 31.40, 4},
		{`{update: "c", updates: [{q: {h: 3}, u: {$set: {b: 1}}, multi: true}]}`, 40 * 10.01, 29, 4},
	} {
		planned := c.ok(`{explain: ` + x.command + `, verbosity: "queryPlanner"}`)
		estimate, _ := at(planned, "requestChargeEstimate.total").AsFloat()
		if !planned.Get("requestCharge").IsMissing() {
			t.Errorf("%s: a plan has a bill: %v", x.command, planned.Get("requestCharge"))
		}
		run := c.ok(`{explain: ` + x.command + `, verbosity: "executionStats"}`)
		bill, _ := run.Get("requestCharge").AsFloat()
		if bill != x.bill || estimate < bill+x.writing-1 || estimate > bill+x.writing+1 || x.writing == 0 && estimate != bill {
			t.Errorf("%s: estimate %v, bill %v, want %v", x.command, estimate, bill, x.bill)
		}
		sum, partitions := 0.0, 0
		list, _ := run.Get("shardInformation").Array()
		for v := range list.Values() {
			d, _ := v.Doc()
			charges, _ := d.Get("charges").Doc()
			for _, v := range charges.Fields() {
				f, _ := v.AsFloat()
				sum += f
			}
			partitions++
		}
		if sum < bill-0.1 || sum > bill+0.1 || partitions != x.partitions {
			t.Errorf("%s: the items of %d partitions make %v, the bill is %v: %v", x.command, partitions, sum, bill, list)
		}
	}
	if r := c.ok(`{explain: {find: "c", filter: {a: {$gte: 0}}, hint: "a"}, verbosity: "queryPlanner"}`); number(at(r, "requestChargeEstimate.documents")) == 0 {
		t.Errorf("%v", r.Get("requestChargeEstimate"))
	}
}

// The charge that explain estimates for a write is equal to the charge of the write when it runs.
func TestExplainChargesOfWrites(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{shardCollection: "test.c", key: {k: "hashed"}, numInitialChunks: 4, $db: "admin"}`)
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}, {key: {tags: 1}, name: "tags"}]}`)
	for i := range 40 {
		c.ok(`{insert: "c", documents: [` + sized(t, kb, fmt.Sprintf("_id: %d, k: %d, a: %d, tags: [1, 2]", i, i, i%10)) + `]}`)
	}
	for _, command := range []string{
		`{update: "c", updates: [{q: {_id: 1, k: 1}, u: {$set: {b: 1}}}]}`,
		`{update: "c", updates: [{q: {_id: 1, k: 1}, u: {$set: {b: 1}}}]}`, // nothing is left to change
		`{update: "c", updates: [{q: {_id: 1, k: 1}, u: {$set: {a: 77}}}]}`,
		`{update: "c", updates: [{q: {_id: 1, k: 1}, u: [{$set: {a: "$$x"}}]}], let: {x: 78}}`,
		`{update: "c", updates: [{q: {a: 4}, u: {$inc: {a: 100}, $push: {tags: 3}}, multi: true}]}`,
		`{update: "c", updates: [{q: {k: 2}, u: {$set: {a: 5}}}]}`,
		`{update: "c", updates: [{q: {_id: 100, k: 100}, u: {$set: {a: 5}}, upsert: true}]}`,
		`{findAndModify: "c", query: {_id: 3, k: 3}, update: {$set: {a: 9}}}`,
		`{findAndModify: "c", query: {_id: 3, k: 3}, remove: true}`,
		`{delete: "c", deletes: [{q: {_id: 5, k: 5}, limit: 1}]}`,
		`{delete: "c", deletes: [{q: {a: {$in: [7, 8]}}, limit: 0}]}`,
		`{delete: "c", deletes: [{q: {a: 999}, limit: 0}]}`,
	} {
		before := number(c.ok(`{count: "c"}`).Get("n"))
		estimate, _ := at(c.ok(`{explain: `+command+`, verbosity: "queryPlanner"}`), "requestChargeEstimate.total").AsFloat()
		if n := number(c.ok(`{count: "c"}`).Get("n")); n != before {
			t.Fatalf("%s was carried out: %d documents, %d before", command, n, before)
		}
		c.ok(command)
		bill, _ := c.ok(`{getLastRequestStatistics: 1}`).Get("RequestCharge").AsFloat()
		if estimate != bill {
			t.Errorf("%s: estimate %v, bill %v", command, estimate, bill)
		}
	}
	if r := c.ok(`{find: "c", filter: {_id: 1}}`); number(at(r, "cursor.firstBatch.0.a")) != 78 {
		t.Errorf("%v", r)
	}
}
