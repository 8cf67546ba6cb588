package exec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// TestDedupeIsBounded: a plan that drops duplicates stores the records it has seen. They count in the command's memory
// until Close, and the plan ends with an error if they exceed RecordsMax.
func TestDedupeIsBounded(t *testing.T) {
	w := newWorld(t, "", 1, `{key: {a: 1}, name: "a_1"}`, `{key: {b: 1}, name: "b_1"}`, `{key: {c: 1}, name: "c_1"}`,
		`{key: {d: 1}, name: "d_1"}`, `{key: {e: 1}, name: "e_1"}`)
	const n = 500
	for i := range n {
		w.insert(bsontest.Doc(t, fmt.Sprintf("{_id: %d, a: %d, b: %d, c: [%d, %d], d: 1, e: 1}", i, i, i, i, i+1)))
	}
	stages := map[string]bool{}
	for _, filter := range []string{`{$or: [{a: {$gte: 0}}, {b: {$gte: 0}}]}`, `{c: {$gte: 0}}`, `{d: 1, e: 1}`} {
		q := w.query(plan.Find{Filter: bsontest.Doc(t, filter)})
		for _, sol := range w.candidates(q) {
			b := stagesOf(sol.Shards)
			if !strings.Contains(b, "OR") && !strings.Contains(b, "AND_HASH") && !strings.Contains(filter, "c:") {
				continue
			}
			for stage := range strings.FieldsSeq(b) {
				stages[stage] = true
			}
			w.env.Memory = mql.NewMemory(mql.StageBytesMax)
			if got := w.run(q, sol); len(got) != n {
				t.Errorf("%s by %s: %d rows", filter, b, len(got))
			}
			if !w.env.Memory.GrowRecords(mql.RecordsBytesMax) {
				t.Errorf("%s by %s: memory was not given back", filter, b)
			}
			w.env.Memory = mql.NewMemory(mql.StageBytesMax)
			w.env.Memory.RecordsMax = 1 << 10
			if got := w.run(q, sol); len(got) != 1 || !strings.Contains(got[0], "Exceeded memory limit of 1024 bytes") {
				t.Errorf("%s by %s with little memory: %d rows, %.100v", filter, b, len(got), got)
			}
		}
	}
	for _, stage := range []string{"OR", "AND_HASH", "IXSCAN"} {
		if !stages[stage] {
			t.Errorf("no plan had the stage %s", stage)
		}
	}
}

// stagesOf returns the names of the stages of a plan.
func stagesOf(n plan.Node) string {
	out := n.Stage()
	for _, in := range n.Inputs() {
		out += " " + stagesOf(in)
	}
	return out
}
