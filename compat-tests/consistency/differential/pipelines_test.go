package differential

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// pipelineLayout is a way in which the documents that the random pipelines read are stored.
type pipelineLayout struct {
	name    string
	key     string // shard key of both collections, hashed; "" = unsharded
	indexed bool
	tight   bool   // blocking stages may hold 64 KB
	suffix  string // of the shard key
}

// pipelineLayouts lists the layouts. In each of them a pipeline must have the same result as in the first.
var pipelineLayouts = []pipelineLayout{
	{"pipes_one", "", false, false, ""},
	{"pipes_one_indexed", "", true, false, ""},
	{"pipes_spilled", "", false, true, ""},
	{"pipes_eight", "_id", false, false, ""},
	{"pipes_eight_by_s", "s", true, false, ""},
	{"pipes_eight_spilled", "_id", true, true, ""},
	{"pipes_eight_dealt", "s", false, false, ", suffix: {random: true, buckets: 12}"},
}

const (
	pipelineDocs     = 400
	pipelinesPerData = 25
	tightBytes       = 64 << 10
)

// TestPipelines runs random pipelines over the same random documents, in one partition and in eight, in memory and
// with stages that spill. All must return the same result. The pipelines use only what MongoDB defines: a stage
// whose result depends on the order of documents follows a sort with a unique order.
func TestPipelines(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	conn := server.Dial(t)
	ran := 0
	programme.RecordAtEnd(t, "random", first(t), func() (int, string) {
		return ran * len(pipelineLayouts), fmt.Sprintf("%d pipelines on %d", ran, len(pipelineLayouts))
	})
	for seed := range dueSeeds(t, pipelinesPerData*len(pipelineLayouts), 160) {
		p := &pipes{Rand: rand.New(rand.NewPCG(seed, 9))}
		p.fill(t, conn)
		for range pipelinesPerData {
			ran++
			text := p.pipeline()
			want := ""
			for i, l := range pipelineLayouts {
				got := l.run(t, conn, text)
				if i == 0 {
					want = got
				}
				if got != want {
					t.Fatalf("CANTLE_SEED=%d: %s\n(- %s, + %s)\n%s", seed, text, pipelineLayouts[0].name, l.name, casefile.Diff(want, got))
				}
			}
		}
	}
}

// Sends a command written in shell notation.
func ask(t *testing.T, conn *harness.Conn, db, text string) bson.Raw {
	t.Helper()
	cmd := bsontest.Doc(t, text)
	reply, err := conn.Command(db, bson.Raw(cmd))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return reply
}

// must sends a command that has to succeed.
func must(t *testing.T, conn *harness.Conn, db, text string) bson.Raw {
	t.Helper()
	reply := ask(t, conn, db, text)
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok != 1 {
		t.Fatalf("%.300s: %s", text, harness.Text(reply))
	}
	return reply
}

// run runs a pipeline in a layout and returns the documents of its result, one per line and sorted, or its error.
func (l pipelineLayout) run(t *testing.T, conn *harness.Conn, pipeline string) string {
	t.Helper()
	limit := 100 << 20
	if l.tight {
		limit = tightBytes
	}
	must(t, conn, "admin", fmt.Sprintf("{setParameter: 1, internalQueryMaxBlockingSortMemoryUsageBytes: NumberLong(%d)}", limit))
	reply := ask(t, conn, l.name, fmt.Sprintf(`{aggregate: "c", cursor: {batchSize: 100000}, pipeline: %s}`, pipeline))
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok != 1 {
		return harness.Render(reply, false)
	}
	if id, _ := reply.Lookup("cursor", "id").AsInt64OK(); id != 0 {
		t.Fatalf("%s: the answer does not fit into one batch", pipeline)
	}
	values, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range values {
		out = append(out, oneNumber(harness.Text(v.Document())))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// typedNumber is a number in relaxed Extended JSON.
var typedNumber = regexp.MustCompile(`\{"\$numberDecimal":"([^"]*)"\}|-?\d+\.?\d*(?:[eE][-+]?\d+)?`)

// oneNumber returns a text in which numbers of all types have one form, to eleven digits, because any of several
// equal numbers of different types may be the key of a group.
func oneNumber(s string) string {
	return typedNumber.ReplaceAllStringFunc(s, func(n string) string {
		if m := typedNumber.FindStringSubmatch(n); m[1] != "" {
			n = m[1]
		}
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return n
		}
		return strconv.FormatFloat(f, 'g', 11, 64)
	})
}

// pipes draws documents and pipelines, in shell notation.
type pipes struct {
	*rand.Rand
	// unique means that, at this point of the pipeline, each document has its own _id, which is not an array, so that
	// a sort by _id has only one result.
	unique bool
}

// fill puts the same documents into all layouts.
func (p *pipes) fill(t *testing.T, conn *harness.Conn) {
	t.Helper()
	batches := map[string]string{"c": p.docs(pipelineDocs), "f": p.docs(pipelineDocs / 5)}
	for _, l := range pipelineLayouts {
		must(t, conn, l.name, "{dropDatabase: 1}")
		for _, coll := range []string{"c", "f"} {
			must(t, conn, l.name, fmt.Sprintf("{create: %q}", coll))
			if l.key != "" {
				must(t, conn, "admin", fmt.Sprintf(`{shardCollection: "%s.%s", key: {%s: "hashed"}, numInitialChunks: 8%s}`, l.name, coll, l.key, l.suffix))
			}
			if l.indexed {
				must(t, conn, l.name, fmt.Sprintf(`{createIndexes: %q, indexes: [{key: {a: 1}, name: "a"}, {key: {"b.x": 1}, name: "b"}, {key: {s: 1, n: -1}, name: "s"}, {key: {u: 1, n: -1, _id: 1}, name: "u"}]}`, coll))
			}
			must(t, conn, l.name, fmt.Sprintf("{insert: %q, documents: [%s]}", coll, batches[coll]))
		}
	}
}

func (p *pipes) pick(list ...string) string { return list[p.IntN(len(list))] }

func (p *pipes) value(depth int) string {
	if depth > 0 {
		switch p.IntN(5) {
		case 0:
			var items []string
			for range p.IntN(4) {
				items = append(items, p.value(depth-1))
			}
			return "[" + strings.Join(items, ", ") + "]"
		case 1:
			return fmt.Sprintf("{x: %s, y: %s}", p.value(depth-1), p.value(0))
		}
	}
	return p.pick("1", "2", "3", "2.5", "NumberLong(2)", `"a"`, `"b"`, "null", "true", `NumberDecimal("3")`, "7", `ISODate("2024-05-06")`)
}

func (p *pipes) docs(n int) string {
	var out []string
	for i := range n {
		d := fmt.Sprintf(`{_id: %d, s: "%s", n: %d, pad: "%s"`, i, p.pick("x", "y", "z", ""), p.IntN(50), strings.Repeat("p", p.IntN(1500)))
		d += p.pick("", ", u: 1", ", u: 2.5", `, u: "a"`, ", u: null", `, u: {x: 1}`, ", u: NumberLong(1)")
		for _, f := range [...]string{"a", "b", "c", "d"} {
			if p.IntN(5) > 0 {
				d += fmt.Sprintf(", %s: %s", f, p.value(2))
			}
		}
		out = append(out, d+"}")
	}
	return strings.Join(out, ", ")
}

func (p *pipes) field() string { return p.pick("a", "b", "c", "d", "s", "n") }
func (p *pipes) path() string {
	return p.pick("a", "b", "c", "d", "s", "n", "a.x", "b.y", "c.x.y", "_id")
}

// condition draws a random condition on a path that does not distinguish equal values of different types.
func (p *pipes) condition() string {
	switch p.IntN(6) {
	case 0:
		return p.value(1)
	case 1:
		return fmt.Sprintf("{$in: [%s, %s]}", p.value(0), p.value(1))
	case 2:
		return fmt.Sprintf("{$%s: %s}", p.pick("gt", "gte", "lt", "lte", "ne"), p.value(0))
	case 3:
		return fmt.Sprintf("{$not: {$gte: %s}}", p.value(0))
	case 4:
		return "{$ne: null}"
	}
	return fmt.Sprintf("{$type: %s}", p.pick(`"number"`, `"string"`, `"array"`))
}

func (p *pipes) match() string {
	switch p.IntN(4) {
	case 0:
		return fmt.Sprintf(`{$match: {$or: [{"%s": %s}, {"%s": %s}]}}`, p.path(), p.condition(), p.path(), p.condition())
	case 1:
		return fmt.Sprintf(`{$match: {$expr: {$%s: ["$%s", %s]}}}`, p.pick("gt", "lte", "eq"), p.path(), p.pick("2", `"a"`, "null"))
	}
	return fmt.Sprintf(`{$match: {"%s": %s}}`, p.path(), p.condition())
}

func (p *pipes) pipeline() string {
	p.unique = true
	var stages []string
	if p.IntN(6) == 0 {
		stages = append(stages, p.edges())
	}
	for range 1 + p.IntN(5) {
		stages = append(stages, p.stage())
	}
	return "[" + strings.Join(stages, ", ") + "]"
}

// edges draws the first or last document of each group in an order that allows one result only; the indexes s and u
// of a layout may have this order.
func (p *pipes) edges() string {
	p.unique = false
	match := p.pick("", `{$match: {s: "x"}}, `, `{$match: {u: {$gte: 1}}}, `, `{$match: {u: 1, n: {$lt: 30}}}, `, `{$match: {u: {$in: [1, "a"]}, n: {$gt: 3}}}, `)
	key, by := "u", p.pick("n: 1, _id: -1", "n: -1, _id: 1", "n: 1, _id: 1")
	output := p.pick(`"$_id"`, `"$$ROOT"`, `{$add: ["$n", 1]}`)
	if p.IntN(3) == 0 { // documents with equal n have equal outputs
		key, by, output = "s", p.pick("n: 1", "n: -1"), p.pick(`"$n"`, `{$add: ["$n", 1]}`)
	}
	if p.IntN(2) == 0 {
		by = key + ": " + p.pick("1, ", "-1, ") + by
	}
	if p.IntN(2) == 0 {
		return fmt.Sprintf(`%s{$sort: {%s}}, {$group: {_id: "$%s", x: {$%s: %s}}}`, match, by, key, p.pick("first", "last"), output)
	}
	return fmt.Sprintf(`%s{$group: {_id: "$%s", x: {$%s: {sortBy: {%s}, output: %s}}}}`, match, key, p.pick("top", "bottom"), by, output)
}

// groupKey draws the key of a group.
func (p *pipes) groupKey() string {
	return p.pick(`"$a"`, `"$s"`, `{a: "$a", s: "$s"}`, "null", `"$b.x"`, `{$type: "$c"}`, `{$mod: ["$n", 7]}`)
}

func (p *pipes) stage() string {
	f := p.field()
	switch p.IntN(20) {
	case 0, 1, 2:
		return p.match()
	case 3:
		p.unique = false
		return fmt.Sprintf(`{$unwind: {path: "$%s", preserveNullAndEmptyArrays: %s}}`, f, p.pick("true", "false"))
	case 4:
		return fmt.Sprintf(`{$set: {%s: "$%s", "e.%s": {$ifNull: ["$%s", 0]}}}, {$match: {%s: %s}}`, f, p.path(), f, p.path(), f, p.condition())
	case 5:
		return fmt.Sprintf(`{$project: {%s: 1, z: "$%s", "b.y": 1, s: 1, n: 1}}, {$match: {z: %s}}`, p.pick("a", "c", "d"), p.path(), p.condition())
	case 6:
		return fmt.Sprintf(`{$unset: ["%s", "pad"]}`, p.pick("a", "b.x", "c", "d.y"))
	case 7:
		if !p.unique {
			return p.match()
		}
		return fmt.Sprintf(`{$sort: {"%s": %s, _id: 1}}, {$skip: %d}, {$limit: %d}`, p.path(), p.pick("1", "-1"), p.IntN(20), 1+p.IntN(200))
	case 8:
		return fmt.Sprintf(`{$sort: {"%s": -1, "%s": 1}}`, p.path(), p.path())
	case 9:
		return fmt.Sprintf(`{$lookup: {from: "f", localField: "%s", foreignField: "%s", as: "j"}}, {$set: {j: {$sortArray: {input: {$ifNull: ["$j._id", []]}, sortBy: 1}}}}`, p.path(), p.pick("a", "b.x", "_id", "s"))
	case 10:
		p.unique = false
		return fmt.Sprintf(`{$lookup: {from: "f", localField: "%s", foreignField: "%s", as: "j"%s}}, {$unwind: "$j"}, {$unset: ["j.pad", "pad"]}, {$match: {"j.%s": %s}}, {$match: {%s: %s}}`,
			p.path(), p.pick("a", "b.x", "_id"), p.pick("", `, let: {v: "$n"}, pipeline: [{$match: {$expr: {$lt: ["$n", "$$v"]}}}]`), p.path(), p.condition(), f, p.condition())
	case 11:
		p.unique = false
		return fmt.Sprintf(`{$group: {_id: %s, n: {$sum: "$n"}, avg: {$avg: "$%s"}, lo: {$min: "$%s"}, hi: {$max: "$%s"}, c: {$count: {}}, set: {$addToSet: "$%s"}, dev: {$stdDevPop: "$n"}, mn: {$minN: {input: "$n", n: 3}}}}, {$set: {set: {$size: "$set"}}}`,
			p.groupKey(), f, f, f, f)
	case 12:
		p.unique = false
		return fmt.Sprintf(`{$group: {_id: %s, n: {$sum: 1}}}, {$match: {"%s": %s}}`, p.groupKey(), p.pick("_id", "_id.a", "_id.s", "n"), p.condition())
	case 13:
		p.unique = false
		return fmt.Sprintf(`{$unionWith: {coll: "f", pipeline: [%s]}}`, p.match())
	case 14:
		if !p.unique {
			return p.match()
		}
		return fmt.Sprintf(`{$setWindowFields: {partitionBy: {$ifNull: ["$%s", 0]}, sortBy: {_id: 1}, output: {w: {$sum: "$n", window: {documents: [-2, %s]}}, k: {$documentNumber: {}}, p: {$push: "$n", window: {documents: [-1, 1]}}, sh: {$shift: {output: "$n", by: 1}}}}}, {$match: {%s: %s}}`,
			p.pick("s", "n", "e"), p.pick("0", "2", `"unbounded"`), p.pick("s", "n", "k"), p.condition())
	case 15:
		p.unique = false
		return fmt.Sprintf(`{$facet: {x: [%s, {$count: "n"}], y: [{$group: {_id: null, s: {$sum: "$n"}}}]}}`, p.match())
	case 16:
		p.unique = false
		return fmt.Sprintf(`{$bucketAuto: {groupBy: "$%s", buckets: %d, output: {c: {$sum: 1}, n: {$sum: "$n"}}}}`, p.pick("n", "_id", "s"), 1+p.IntN(6))
	case 17:
		if !p.unique {
			return p.match()
		}
		p.unique = false
		return `{$sort: {_id: 1}}, {$group: {_id: "$s", first: {$first: "$_id"}, last: {$last: "$n"}, all: {$push: "$_id"}, merged: {$mergeObjects: {v: "$n"}}, top: {$topN: {n: 2, sortBy: {n: 1, _id: -1}, output: "$_id"}}}}`
	case 18:
		if !p.unique {
			return p.match()
		}
		return fmt.Sprintf(`{$sort: {"%s": %s, _id: 1}}, {$setWindowFields: {partitionBy: "$s", sortBy: {_id: -1}, output: {mk: {$push: {$meta: "sortKey"}, window: {documents: [-1, 0]}}}}}, {$set: {sk: {$meta: "sortKey"}}}, {$match: {$expr: {$ne: [{$arrayElemAt: [{$meta: "sortKey"}, 0]}, %s]}}}`,
			p.path(), p.pick("1", "-1"), p.pick("1", "null", `"a"`))
	}
	p.unique = false
	return fmt.Sprintf(`{$sortByCount: "$%s"}, {$match: {count: {$gt: %d}}}`, p.pick("s", "n", "a"), p.IntN(5))
}
