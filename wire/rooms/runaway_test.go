package rooms

import (
	"fmt"
	"strings"
	"testing"
)

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
