package differential

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// cachedShape is a filter whose plan is put into the plan cache by a query with few results, and is then used for
// queries with any number of results.
type cachedShape struct {
	name   string
	filter string // %[1]d: documents whose _id is smaller match
	sort   string // by which an index serves it; "" for none
}

// cachedShapes lists filters for which the planner has at least two candidate plans, with plan operators of all
// kinds.
var cachedShapes = []cachedShape{
	{"fetch", `{k: {$lt: %[1]d}, j: {$lt: %[1]d}}`, ""},
	{"sorted by an index", `{k: {$lt: %[1]d}, j: {$lt: %[1]d}}`, `{k: 1}`},
	{"sorted in memory", `{k: {$lt: %[1]d}, j: {$lt: %[1]d}}`, `{z: 1}`},
	{"union", `{$or: [{k: {$lt: %[1]d}, half: 0}, {j: {$lt: %[1]d}, half: 1}], any: 1, j: {$gte: 0}}`, ""},
	{"merged by sort", `{$or: [{half: 0, k: {$lt: %[1]d}}, {half: 1, k: {$lt: %[1]d}}], j: {$gte: 0}}`, `{k: 1}`},
	{"intersection", `{any: 1, same: 1, k: {$lt: %[1]d}}`, ""},
	{"wildcard", `{"w.a": {$lt: %[1]d}, "w.b": {$lt: %[1]d}}`, ""},
	{"multikey", `{list: {$lt: %[1]d}, k: {$lt: %[1]d}}`, ""},
	{"hashed", `{h: 1, k: {$lt: %[1]d}}`, ""},
	{"covered", `{half: {$in: [0, 1]}, k: {$lt: %[1]d}, j: {$lt: %[1]d}}`, ""},
	{"text", `{$text: {$search: "word apple"}, k: {$lt: %[1]d}, j: {$lt: %[1]d}}`, ""},
	{"near", `{at: {$near: [0, 0]}, k: {$lt: %[1]d}}`, ""},
	{"within", `{at: {$geoWithin: {$center: [[0, 0], 50]}}, k: {$lt: %[1]d}}`, ""},
}

// cachedIndexes are the indexes of those shapes.
const cachedIndexes = `[{key: {k: 1}, name: "k"}, {key: {j: 1}, name: "j"}, {key: {half: 1, k: 1}, name: "half"}, {key: {any: 1}, name: "any"}, {key: {same: 1}, name: "same"},
	{key: {"w.$**": 1}, name: "w"}, {key: {list: 1}, name: "list"}, {key: {h: "hashed"}, name: "h"}, {key: {half: 1, k: 1, j: 1}, name: "half_k_j"},
	{key: {text: "text"}, name: "text"}, {key: {at: "2d"}, name: "at"}, {key: {at: "2d", k: 1}, name: "at_k"}]`

const cachedDocs = 1000

// TestCachedPlans checks that a plan that was cached after a result of 10 to 12 documents returns the right answer
// for results of 0 to 200 and of 1000 documents (the first filter with all of these sizes, each other one with a
// sixth): by commands that take turns, in one partition, in seven, and in a transaction. Neither the work limit of
// such a plan, nor rows that were read ahead, may change the answer.
func TestCachedPlans(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	conn := server.Dial(t)
	var docs []string
	for i := range cachedDocs {
		docs = append(docs, fmt.Sprintf(`{_id: %[1]d, k: %[1]d, j: %[1]d, z: %[2]d, any: 1, same: 1, half: %[3]d, w: {a: %[1]d, b: %[1]d}, list: [%[1]d, %[4]d], h: 1, text: %[5]q, at: [%[6]d, %[6]d]}`,
			i, -i, i%2, i+cachedDocs, [...]string{"word", "apple word", "apple"}[i%3], i%25))
	}
	for _, db := range []string{"cached_one", "cached_seven"} {
		for _, c := range []string{"c", "out"} {
			must(t, conn, db, fmt.Sprintf("{create: %q}", c))
			if db == "cached_seven" {
				must(t, conn, "admin", fmt.Sprintf(`{shardCollection: "%s.%s", key: {_id: "hashed"}, numInitialChunks: 7}`, db, c))
			}
		}
		must(t, conn, db, fmt.Sprintf(`{createIndexes: "c", indexes: %s}`, cachedIndexes))
		must(t, conn, db, fmt.Sprintf(`{insert: "c", documents: [%s]}`, strings.Join(docs, ", ")))
		must(t, conn, db, `{insert: "one", documents: [{_id: 1}]}`)
	}
	sizes := []int{cachedDocs}
	for n := range 201 {
		sizes = append(sizes, n)
	}
	asked := 0
	for s, shape := range cachedShapes {
		for i, n := range sizes {
			if s > 0 && i > 0 && (i+s)%6 != 0 {
				continue // each shape has a sixth of the sizes, the first shape all of them
			}
			few := 10 + i%3
			for l, layout := range []string{"cached_one", "cached_seven", "cached_one"} {
				q := &cachedQuestion{t: t, conn: conn, db: layout, shape: shape, n: n, batch: [...]int{0, 1, 2, 101}[(i/6+l)%4]}
				if q.batch > 0 && n > 200 {
					q.batch = 101
				}
				command := cachedCommands[(i*3+l+s)%len(cachedCommands)]
				if command.writes && l < 2 && n%20 != 13 {
					command = cachedCommands[(i+l)%2] // mostly a read: after a write the documents must be restored
				}
				for range 2 { // the second run activates the entry of the first
					small := *q
					small.n, small.batch = few, 0
					small.find()
				}
				if l == 2 {
					q.txn = int64(asked + 1)
				}
				command.ask(q)
				asked++
				q.end(docs, command.writes)
			}
		}
	}
	t.Logf("%d questions", asked)
}

// cachedCommands are the commands that take the filter.
var cachedCommands = []struct {
	name   string
	writes bool
	ask    func(q *cachedQuestion)
}{
	{"find", false, (*cachedQuestion).find},
	{"aggregate", false, func(q *cachedQuestion) {
		q.rows(`{aggregate: "c", pipeline: [{$match: FILTER}, SORTED {$project: {_id: 1}}], cursor: CURSOR}`)
	}},
	{"find by another order", false, func(q *cachedQuestion) {
		q.rows(`{find: "c", filter: FILTER, sort: {z: -1, _id: 1}, projection: {_id: 1} BATCH}`)
	}},
	{"count", false, func(q *cachedQuestion) {
		if q.txn == 0 { // count is not allowed in transactions
			q.number(`{count: "c", query: FILTER}`, "n")
			return
		}
		reply := q.must(`{aggregate: "c", pipeline: [{$match: FILTER}, {$count: "n"}], cursor: {}}`)
		if got, _ := reply.Lookup("cursor", "firstBatch", "0", "n").AsInt64OK(); got != int64(q.n) {
			q.fail("$count is %d", got)
		}
	}},
	{"distinct", false, func(q *cachedQuestion) { q.values(`{distinct: "c", key: "_id", query: FILTER}`, "values") }},
	{"$group", false, func(q *cachedQuestion) {
		q.values(`{aggregate: "c", pipeline: [{$match: FILTER}, {$group: {_id: null, ids: {$push: "$_id"}}}], cursor: {}}`, "cursor", "firstBatch", "0", "ids")
	}},
	{"$lookup", false, func(q *cachedQuestion) {
		q.values(`{aggregate: "one", pipeline: [{$lookup: {from: "c", pipeline: [{$match: FILTER}, {$group: {_id: null, ids: {$push: "$_id"}}}], as: "r"}}, {$unwind: "$r"}], cursor: {}}`, "cursor", "firstBatch", "0", "r", "ids")
	}},
	{"findAndModify", false, func(q *cachedQuestion) {
		want := bson.RawValue{}
		if q.n > 0 {
			want = q.must(`{findAndModify: "c", query: FILTER, sort: {z: 1}, update: {$inc: {u: 1}}, fields: {_id: 1}}`).Lookup("value", "_id")
			if got, _ := want.AsInt64OK(); got != int64(q.n-1) {
				q.fail("findAndModify changed %d", got)
			}
		}
	}},
	{"update", false, func(q *cachedQuestion) {
		q.number(`{update: "c", updates: [{q: FILTER, u: {$inc: {u: 1}}, multi: true}]}`, "nModified")
	}},
	{"delete", true, func(q *cachedQuestion) { q.number(`{delete: "c", deletes: [{q: FILTER, limit: 0}]}`, "n") }},
	{"$merge", false, func(q *cachedQuestion) {
		if q.txn > 0 || strings.Contains(q.shape.filter, "$near") {
			return
		}
		q.must(`{delete: "out", deletes: [{q: {}, limit: 0}]}`)
		q.must(`{aggregate: "c", pipeline: [{$match: FILTER}, {$merge: "out"}], cursor: {}}`)
		q.number(`{count: "out"}`, "n")
	}},
}

// cachedQuestion is one command about the first n documents.
type cachedQuestion struct {
	t     *testing.T
	conn  *harness.Conn
	db    string
	shape cachedShape
	n     int
	batch int   // batch size; 0: the default
	txn   int64 // the number of its transaction, 0 for none
	begun bool
}

// end reverts the writes.
func (q *cachedQuestion) end(docs []string, wrote bool) {
	switch {
	case q.begun:
		must(q.t, q.conn, "admin", q.inTxn(`{abortTransaction: 1}`))
	case wrote && q.txn == 0 && q.n > 0:
		must(q.t, q.conn, q.db, fmt.Sprintf(`{insert: "c", documents: [%s]}`, strings.Join(docs[:q.n], ", ")))
	}
}

func (q *cachedQuestion) fail(format string, args ...any) {
	q.t.Helper()
	q.t.Fatalf("%s, %s, n %d, batches of %d, transaction %d: "+format, append([]any{q.db, q.shape.name, q.n, q.batch, q.txn}, args...)...)
}

// inTxn adds the fields of the query's transaction to a command; without a transaction the command is unchanged.
func (q *cachedQuestion) inTxn(text string) string {
	if q.txn == 0 {
		return text
	}
	start := ""
	if !q.begun {
		q.begun, start = true, ", startTransaction: true"
	}
	return fmt.Sprintf(`%s, lsid: {id: UUID("00000000-0000-4000-8000-00000000cafe")}, txnNumber: NumberLong(%d), autocommit: false%s}`, text[:len(text)-1], q.txn, start)
}

func (q *cachedQuestion) must(text string) bson.Raw {
	q.t.Helper()
	filter := fmt.Sprintf(q.shape.filter, q.n)
	if !strings.HasPrefix(text, "{find:") && !strings.HasPrefix(text, "{findAndModify") {
		filter = strings.Replace(filter, "{$near: [0, 0]}", "{$geoWithin: {$center: [[0, 0], 50]}}", 1)
	}
	sorted, sort, cursor, batch := "", "", "{}", ""
	if q.shape.sort != "" {
		sorted, sort = fmt.Sprintf("{$sort: %s},", q.shape.sort), ", sort: "+q.shape.sort
	}
	if q.batch > 0 {
		cursor, batch = fmt.Sprintf("{batchSize: %d}", q.batch), fmt.Sprintf(", batchSize: %d", q.batch)
	}
	text = strings.NewReplacer("FILTER", filter, "SORTED", sorted, "SORT", sort, "CURSOR", cursor, "BATCH", batch).Replace(text)
	text = q.inTxn(text)
	reply := ask(q.t, q.conn, q.db, text)
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok != 1 {
		q.fail("%s: %s", text, harness.Text(reply))
	}
	if _, err := reply.LookupErr("writeErrors"); err == nil {
		q.fail("%s: %s", text, harness.Text(reply))
	}
	return reply
}

func (q *cachedQuestion) find() { q.rows(`{find: "c", filter: FILTER SORT BATCH}`) }

// rows sends a command, reads its cursor to the end, and fails the test unless each of the first n documents is
// returned once.
func (q *cachedQuestion) rows(text string) {
	q.t.Helper()
	var ids []int
	reply, name := q.must(text), "firstBatch"
	for {
		values, err := reply.Lookup("cursor", name).Array().Values()
		if err != nil {
			q.t.Fatal(err)
		}
		for _, v := range values {
			id, _ := v.Document().Lookup("_id").AsInt64OK()
			ids = append(ids, int(id))
		}
		cursor, _ := reply.Lookup("cursor", "id").AsInt64OK()
		if cursor == 0 {
			break
		}
		more := ""
		if q.batch > 0 {
			more = fmt.Sprintf(", batchSize: %d", q.batch)
		}
		reply, name = q.must(fmt.Sprintf(`{getMore: NumberLong(%d), collection: "c"%s}`, cursor, more)), "nextBatch"
	}
	q.want(text, ids)
}

// values sends a command, and fails the test unless the array at a path of the reply contains the numbers below n.
func (q *cachedQuestion) values(text string, path ...string) {
	q.t.Helper()
	var ids []int
	if list, err := q.must(text).LookupErr(path...); err == nil {
		values, _ := list.Array().Values()
		for _, v := range values {
			id, _ := v.AsInt64OK()
			ids = append(ids, int(id))
		}
	}
	q.want(text, ids)
}

func (q *cachedQuestion) want(text string, ids []int) {
	q.t.Helper()
	slices.Sort(ids)
	for i, id := range ids {
		if i != id {
			q.fail("%s: at %d of %d is %d", text, i, len(ids), id)
		}
	}
	if len(ids) != q.n {
		q.fail("%s: %d documents", text, len(ids))
	}
}

// number fails unless a field of the reply is n.
func (q *cachedQuestion) number(text, field string) {
	q.t.Helper()
	if got, _ := q.must(text).Lookup(field).AsInt64OK(); got != int64(q.n) {
		q.fail("%s: %s is %d", text, field, got)
	}
}
