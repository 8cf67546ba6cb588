package command

import (
	"fmt"
	"strings"
	"testing"
)

// The published prices of single-document commands, as a client meets them.
// Source: the price list, rules R1 and R4 to R7.
func TestCharges(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	doc := func(id int) string {
		empty := fmt.Sprintf(`{_id: %d, a: 1, b: 1, pad: ""}`, id)
		pad := 1024 - 4 - (1 + 4 + 4) - 2*(1+2+4) - (1 + 4 + 4 + 1) - 1
		return strings.Replace(empty, `""`, `"`+strings.Repeat("x", pad)+`"`, 1)
	}
	for _, x := range []struct {
		name, command string
		want          float64
	}{
		{"insert, two terms", `{insert: "c", documents: [` + doc(1) + `]}`, 5.80},
		{"read by key", `{find: "c", filter: {_id: 1}}`, 1},
		{"nothing found", `{find: "c", filter: {_id: 2}}`, 1},
		{"no indexed field changed", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 2}}}]}`, 10},
		{"one indexed field changed", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 2}}}]}`, 10.80},
		{"found by an index", `{update: "c", updates: [{q: {a: 2}, u: {$set: {b: 3}}}]}`, 12.55},
		{"nothing modified", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 3}}}]}`, 1},
		{"nothing to update", `{update: "c", updates: [{q: {_id: 2}, u: {$set: {b: 3}}}]}`, 1},
		{"findAndModify", `{findAndModify: "c", query: {_id: 1}, update: {$set: {b: 4}}}`, 10},
		{"delete", `{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`, 5.80},
	} {
		c.ok(x.command)
		if got, _ := c.ok(`{getLastRequestStatistics: 1}`).Get("RequestCharge").AsFloat(); got != x.want {
			t.Errorf("%s: %v RU, want %v", x.name, got, x.want)
		}
	}
}
