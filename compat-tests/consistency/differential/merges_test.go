package differential

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// mergeLayouts lists the ways in which the target collection of $merge is stored: identified by _id or by another
// field, in one partition and in eight.
var mergeLayouts = []struct {
	name, on string
	sharded  bool
}{
	{"merge_id", "_id", false},
	{"merge_id_eight", "_id", true},
	{"merge_k", "k", false},
	{"merge_k_eight", "k", true},
}

// TestMerges merges random documents into random ones in every mode of $merge, by _id and by another field. The
// target must be equal in each layout to that of a naive model.
func TestMerges(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	conn := server.Dial(t)
	for _, l := range mergeLayouts {
		must(t, conn, l.name, `{create: "t"}`)
		if l.sharded {
			must(t, conn, "admin", fmt.Sprintf(`{shardCollection: "%s.t", key: {%s: "hashed"}, numInitialChunks: 8}`, l.name, l.on))
		}
		if l.on != "_id" {
			must(t, conn, l.name, fmt.Sprintf(`{createIndexes: "t", indexes: [{key: {%s: 1}, name: "on", unique: true}]}`, l.on))
		}
	}
	for seed := range seeds(t, 2) {
		m := &merges{Rand: rand.New(rand.NewPCG(seed, 21))}
		for range 60 {
			m.fill()
			ids := m.IntN(2) == 0
			for _, l := range mergeLayouts {
				m.ids = l.on == "_id" || ids && !l.sharded // a collection sharded by k can have an _id twice
				want := m.answer(l.on)
				must(t, conn, l.name, `{delete: "t", deletes: [{q: {}, limit: 0}]}`)
				must(t, conn, l.name, `{insert: "t", documents: [`+showMerge(m.target)+`]}`)
				must(t, conn, l.name, `{delete: "s", deletes: [{q: {}, limit: 0}]}`)
				must(t, conn, l.name, `{insert: "s", documents: [`+showMerge(m.source)+`]}`)
				reply := ask(t, conn, l.name, `{aggregate: "s", cursor: {}, pipeline: `+m.pipeline(l.on)+`}`)
				got := ""
				if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok != 1 {
					got = harness.Render(reply, false) + "\n"
				}
				reply = must(t, conn, l.name, `{aggregate: "t", cursor: {batchSize: 1000}, pipeline: [{$sort: {k: 1}}, {$set: {_id: {$cond: [{$isNumber: "$_id"}, "$_id", "new"]}}}]}`)
				values, err := reply.Lookup("cursor", "firstBatch").Array().Values()
				if err != nil {
					t.Fatal(err)
				}
				var docs []mergeDoc
				for _, v := range values {
					elements, err := v.Document().Elements()
					if err != nil {
						t.Fatal(err)
					}
					d := mergeDoc{}
					for _, e := range elements {
						d[e.Key()] = "new"
						if n, ok := e.Value().AsInt64OK(); ok {
							d[e.Key()] = fmt.Sprint(n)
						}
					}
					docs = append(docs, d)
				}
				got += mergeLines(docs)
				if got != want {
					t.Fatalf("CANTLE_SEED=%d, %s: %s\nsource %s\ntarget %s\n%s", seed, l.name, m.pipeline(l.on), showMerge(m.source), showMerge(m.target), casefile.Diff(want, got))
				}
			}
		}
	}
}

// mergeDoc is a document whose values are numbers, as text.
type mergeDoc map[string]string

// merges is a random $merge.
type merges struct {
	*rand.Rand
	source, target   []mergeDoc
	matched, missing string
	ids              bool // the source documents keep their _ids
}

// fill draws the documents and the modes.
func (m *merges) fill() {
	m.source, m.target = nil, nil
	for i := range 8 {
		d := mergeDoc{"_id": fmt.Sprint(i), "v": fmt.Sprint(m.IntN(9)), "k": fmt.Sprint(m.IntN(6) + i/2)}
		if m.IntN(12) == 0 {
			delete(d, "k")
		}
		m.source = append(m.source, d)
		if m.IntN(2) == 0 {
			m.target = append(m.target, mergeDoc{"_id": fmt.Sprint((i + m.IntN(2)*50)), "w": fmt.Sprint(m.IntN(9)), "k": fmt.Sprint(i)})
		}
	}
	if m.target == nil {
		m.target = []mergeDoc{{"_id": "3", "k": "3"}}
	}
	m.matched = []string{`"merge"`, `"replace"`, `"keepExisting"`, `"fail"`, `[{$set: {p: "$$new.v"}}]`}[m.IntN(5)]
	m.missing = []string{"insert", "discard", "fail"}[m.IntN(3)]
	if m.matched == `"keepExisting"` || m.matched == `"fail"` {
		m.missing = "insert"
	}
}

func (m *merges) pipeline(on string) string {
	project := ""
	if !m.ids {
		project = `{$project: {_id: 0}}, `
	}
	return fmt.Sprintf(`[{$sort: {_id: 1}}, %s{$merge: {into: "t", on: %q, whenMatched: %s, whenNotMatched: %q}}]`, project, on, m.matched, m.missing)
}

// answer returns the expected contents of the target collection as text, after the expected error if there is one.
func (m *merges) answer(on string) string {
	var docs []mergeDoc
	for _, d := range m.target {
		docs = append(docs, maps.Clone(d))
	}
	first := ""
	for _, d := range m.source { // all in one batch, whose other documents are written if one fails
		fresh := maps.Clone(d)
		if !m.ids {
			delete(fresh, "_id")
		}
		var problem string
		problem, docs = m.merge(docs, fresh, on)
		noKey := strings.HasPrefix(problem, "error 51132") // which ends the batch
		if problem != "" && (first == "" || noKey) {
			first = problem + "\n"
		}
		if noKey {
			break
		}
	}
	return first + mergeLines(docs)
}

// merge merges one document.
func (m *merges) merge(docs []mergeDoc, fresh mergeDoc, on string) (problem string, out []mergeDoc) {
	if fresh[on] == "" {
		return "error 51132 Location51132", docs
	}
	has := func(field string) int {
		return slices.IndexFunc(docs, func(d mergeDoc) bool { return fresh[field] != "" && d[field] == fresh[field] })
	}
	at := has(on)
	switch {
	case at >= 0 && m.matched == `"keepExisting"`:
		return "", docs
	case at >= 0 && m.matched == `"fail"`, at < 0 && m.missing == "insert" && has("_id") >= 0:
		return "error 11000 DuplicateKey", docs
	case at < 0 && m.missing == "fail":
		return "error 13113 MergeStageNoMatchingDocument", docs
	case at < 0 && m.missing == "insert":
		if fresh["_id"] == "" {
			fresh["_id"] = "new"
		}
		return "", append(docs, fresh)
	case at < 0:
		return "", docs
	case m.matched[0] == '[':
		docs[at]["p"] = fresh["v"]
		return "", docs
	case fresh["_id"] != "" && fresh["_id"] != docs[at]["_id"]:
		return "error 66 ImmutableField", docs
	}
	id := docs[at]["_id"]
	if m.matched == `"replace"` {
		docs[at] = mergeDoc{}
	}
	maps.Copy(docs[at], fresh)
	docs[at]["_id"] = id
	return "", docs
}

// showMerge prints documents in shell notation.
func showMerge(docs []mergeDoc) string {
	var out []string
	for _, d := range docs {
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(d)) {
			fields = append(fields, name+": "+d[name])
		}
		out = append(out, "{"+strings.Join(fields, ", ")+"}")
	}
	return strings.Join(out, ", ")
}

// mergeLines prints documents to be compared.
func mergeLines(docs []mergeDoc) string {
	var out []string
	for _, d := range docs {
		out = append(out, showMerge([]mergeDoc{d}))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
