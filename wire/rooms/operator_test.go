package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/ratelimit"
)

// Commands of operators run while the budget of their collection is used up, from an allowance of their own: the
// sums of the partitions and of the request report are exactly the charges of the other commands, and that of the
// allowance those of the operators.
func TestOperatorsAllowance(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400}`)
	sum := 0.0
	refused := false
	for i := range 200 {
		r := c.run(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, k: %d, pad: "%s"}]}`, i, i%7, strings.Repeat("x", 900)))
		if refused = number(r.Get("code")) == ratelimit.CodeThrottled; refused {
			break
		}
		sum += c.charge()
	}
	const asOperator = `comment: {priority: "operator"}`
	if n := c.code(`{find: "c", filter: {k: 1}}`); !refused || n != ratelimit.CodeThrottled {
		t.Fatal("the budget is not used up")
	}
	operators := 0.0
	for _, command := range []string{`{find: "c", batchSize: 5, ` + asOperator + `}`, `{aggregate: "c", pipeline: [{$sample: {size: 10}}], cursor: {}, ` + asOperator + `}`,
		`{explain: {find: "c", filter: {k: 1}}, verbosity: "executionStats", ` + asOperator + `}`, `{update: "c", updates: [{q: {_id: 1, k: 1}, u: {$set: {x: 1}}}], ` + asOperator + `}`} {
		r := c.ok(command)
		operators += c.charge()
		if id := number(at(r, "cursor.id")); id != 0 { // without the comment: it pays as the find did
			c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c"}`, id))
			operators += c.charge()
		}
	}
	spent, _ := w.Cluster.Budgets.Collection(uint64(w.Cluster.Catalog().Collections("test")[0].ID)).Totals()
	reply := c.ok(`{customAction: "GetRequestReport"}`)
	report, _ := reply.Get("ruTotal").AsFloat()
	told, _ := reply.Get("ruOperators").AsFloat()
	same := func(a, b, off float64) bool { return a-b < off && b-a < off }
	// The charge of a getMore is a difference of two rounded sums.
	if own := w.Cluster.Budgets.OperatorCharge().Float(); !same(spent.Float(), sum, 1e-6) || !same(report, sum, 1e-6) || !same(own, operators, 0.011) || !same(own, told, 1e-6) || own < 10 {
		t.Errorf("the replies name %v RU, the partitions %v, the report %v; of operators %v, the allowance %v, the report %v", sum, spent, report, operators, own, told)
	}
	w.RequireAuth = true
	for need, want := range map[string]int64{"test.c: find": ratelimit.CodeThrottled, "test.c: find, cluster: serverStatus": 0} {
		if n := w.dialWith(t, strings.Split(need, ", ")).code(`{find: "c", filter: {k: 1}, ` + asOperator + `}`); n != want {
			t.Errorf("with the privileges %s: code %d, want %d", need, n, want)
		}
	}
}
