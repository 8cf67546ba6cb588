package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/faultkv"
	"github.com/cantledb/cantle/storage/memkv"
)

// unanswered returns a client of a server, and a function that makes the next commit of the server's store
// undetermined; its argument decides whether this commit takes effect.
func unanswered(t *testing.T) (*client, func(takesEffect bool)) {
	store := faultkv.New(memkv.Open(memkv.Options{}), 1)
	t.Cleanup(func() { store.Close() })
	return newWorld(t, store).dial(), func(takesEffect bool) {
		store.SetRules(faultkv.Rule{Op: faultkv.Commit, Times: 1, Err: storage.ErrUndetermined, After: takesEffect})
	}
}

// hasLabel reports whether a reply has a label.
func hasLabel(reply fmt.Stringer, label string) bool {
	return strings.Contains(reply.String(), label)
}

// A retryable write whose commit is undetermined can be retried, and takes effect once.
func TestUndeterminedWrite(t *testing.T) {
	c, unanswer := unanswered(t)
	c.ok(`{insert: "c", documents: [{_id: 1, n: 0}]}`)
	want, txnNumber := int64(0), 0
	for _, takesEffect := range []bool{true, false} {
		for _, command := range []string{
			`update: "c", updates: [{q: {_id: 1}, u: {$inc: {n: 1}}}]`,
			`findAndModify: "c", query: {_id: 1}, update: {$inc: {n: 1}}`,
			`bulkWrite: 1, ops: [{update: 0, filter: {_id: 1}, updateMods: {$inc: {n: 1}}}], nsInfo: [{ns: "test.c"}], $db: "admin"`,
		} {
			txnNumber++
			write := fmt.Sprintf(`{%s, %s, txnNumber: {$numberLong: "%d"}}`, command, lsid, txnNumber)
			want++
			unanswer(takesEffect)
			if r := c.run(write); number(r.Get("code")) != 89 || !hasLabel(r, "RetryableWriteError") {
				t.Errorf("%s: %v", command, r)
			}
			for range 2 {
				c.ok(write)
			}
			if r := c.ok(`{find: "c"}`); number(at(r, "cursor.firstBatch.0.n")) != want {
				t.Errorf("takes effect %v: %s: %v, want n %d", takesEffect, command, r, want)
			}
		}
	}
	unanswer(true)
	if r := c.run(`{insert: "c", documents: [{_id: 2}]}`); number(r.Get("code")) != 89 || hasLabel(r, "errorLabels") {
		t.Errorf("a write that is not retryable: %v", r)
	}
}

// A transaction with an undetermined commit is either committed or not; a further commitTransaction returns which.
func TestUndeterminedTransaction(t *testing.T) {
	c, unanswer := unanswered(t)
	c.ok(`{insert: "c", documents: [{_id: 0}]}`)
	for i, takesEffect := range []bool{true, false} {
		txn := fmt.Sprintf(`%s, txnNumber: {$numberLong: "%d"}, autocommit: false`, lsid, i+1)
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d}], startTransaction: true, %s}`, i+1, txn))
		unanswer(takesEffect)
		commit := `{commitTransaction: 1, $db: "admin", ` + txn + `}`
		if r := c.run(commit); number(r.Get("code")) != 89 || !hasLabel(r, "UnknownTransactionCommitResult") {
			t.Errorf("the commit: %v", r)
		}
		for range 2 {
			r := c.run(commit)
			if takesEffect && !r.Get("ok").Truthy() || !takesEffect && (number(r.Get("code")) != 251 || !hasLabel(r, "TransientTransactionError")) {
				t.Errorf("takes effect %v: the commit again: %v", takesEffect, r)
			}
		}
	}
	if r := c.ok(`{count: "c"}`); number(r.Get("n")) != 2 {
		t.Errorf("%v documents", r.Get("n"))
	}
}
