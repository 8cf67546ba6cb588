package plans

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/ratelimit"
)

// TestStatsSum checks the sums of a measurement; the sum of squares has more than 64 bits.
func TestStatsSum(t *testing.T) {
	var s statsSum
	for _, v := range []int64{math.MaxInt64, 3, math.MaxInt64 - 1, -7} {
		s.add(v)
	}
	s.sum = 0 // it overflows here; nothing lasts for 2^63 microseconds
	b := bson.NewBuilder(nil)
	s.append(b, "x")
	const want = "1.701411834604692316763470714947555E+38" // (2^63-1)² + (2^63-2)² + 9, in 34 digits
	if got := b.Doc().String(); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStatsEviction checks that the entries that were not used for the longest time are removed at the maximum of memory, and that an
// execution with a long key is not recorded.
func TestStatsEviction(t *testing.T) {
	q := queryStats{max: func() int64 { return 3*statsEntryBytes + 1000 }}
	key := func(name string) *statsKey { return &statsKey{doc: bson.Empty, hash: name} }
	at := time.Unix(1, 0)
	for _, name := range []string{"a", "b", "c", "a", "d"} {
		q.record(key(name), &statsWork{last: at, total: time.Millisecond})
	}
	q.note(key("a"), ratelimit.RunawayAction(0), true, at)
	q.record(&statsKey{doc: make(bson.Raw, statsKeyMax+1), hash: "long"}, &statsWork{})
	var names []string
	for _, e := range q.list() {
		names = append(names, e.hash)
	}
	if got := strings.Join(names, " "); got != "a c d" || q.evicted != 1 || q.tooLong != 1 {
		t.Errorf("%s are left, %d were removed, %d were too long", got, q.evicted, q.tooLong)
	}
	if e := q.list()[0]; e.runs != 2 || e.runaways[0] != 1 || e.total.sum != 2000 {
		t.Errorf("%+v", e)
	}
}

// TestIdentifiers checks which names of a query shape are hashed: fields and variables, not operators, parameters and placeholders.
func TestIdentifiers(t *testing.T) {
	names := identifiers{[]byte("key")}
	h := names.hash
	for in, want := range map[string]string{
		`{filter: {"a.b": {$gt: "?number"}}}`:                                               `{filter: {"` + h("a") + `.` + h("b") + `": {$gt: "?number"}}}`,
		`{filter: {a: {$elemMatch: {b: {$eq: "?string"}}}}}`:                                `{filter: {"` + h("a") + `": {$elemMatch: {"` + h("b") + `": {$eq: "?string"}}}}}`,
		`{filter: {$jsonSchema: {properties: {a: {}}}}}`:                                    `{filter: {$jsonSchema: "?object"}}`,
		`{pipeline: [{$project: {x: {$cond: {if: "$a", then: "$$ROOT.b", else: "$$v"}}}}]}`: `{pipeline: [{$project: {"` + h("x") + `": {$cond: {if: "$` + h("a") + `", then: "$$ROOT.` + h("b") + `", else: "$$` + h("v") + `"}}}}]}`,
		`{pipeline: [{$group: {_id: "$a", l: {$push: {n: "$b"}}}}]}`:                        `{pipeline: [{$group: {_id: "$` + h("a") + `", "` + h("l") + `": {$push: {"` + h("n") + `": "$` + h("b") + `"}}}}]}`,
		`{pipeline: [{$facet: {f: [{$unset: "a.b"}, {$sort: {c: -1}}]}}]}`:                  `{pipeline: [{$facet: {"` + h("f") + `": [{$unset: "` + h("a") + `.` + h("b") + `"}, {$sort: {"` + h("c") + `": -1}}]}}]}`,
		`{pipeline: [{$bucket: {groupBy: "$a", output: {n: {$sum: "?number"}}}}]}`:          `{pipeline: [{$bucket: {groupBy: "$` + h("a") + `", output: {"` + h("n") + `": {$sum: "?number"}}}}]}`,
		`{q: {a: {$eq: "?number"}}, u: {$set: {"b.c": "?string"}}, multi: true}`:            `{q: {"` + h("a") + `": {$eq: "?number"}}, u: {$set: {"` + h("b") + `.` + h("c") + `": "?string"}}, multi: true}`,
	} {
		if got, want := names.shape(bsontest.Doc(t, in)).String(), bsontest.Doc(t, want).String(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", in, got, want)
		}
	}
}
