package rooms

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// TestAwaitData checks that a waiting getMore of a tailable cursor returns as soon as another connection inserts a
// document, and that it ends when the collection is dropped.
func TestAwaitData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c, other := w.dial(), w.dial()
		c.ok(`{create: "c", capped: true, size: 4096, max: 10}`)
		c.ok(`{insert: "c", documents: [{_id: 0}]}`)
		id := number(at(c.ok(`{find: "c", tailable: true, awaitData: true}`), "cursor.id"))
		more := func(ms int) string {
			return fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", maxTimeMS: %d}`, id, ms)
		}
		if r := c.ok(more(0)); !at(r, "cursor.nextBatch.0").IsMissing() || number(at(r, "cursor.id")) != id {
			t.Fatalf("nothing has come: %v", r)
		}
		for i := 1; i <= 5; i++ {
			var wait sync.WaitGroup
			wait.Go(func() {
				synctest.Wait() // until the getMore waits
				other.run(`{insert: "unrelated", documents: [{}]}`)
				other.run(fmt.Sprintf(`{insert: "c", documents: [{_id: %d}]}`, i))
			})
			r := c.ok(more(60_000))
			wait.Wait()
			if v := at(r, "cursor.nextBatch.0._id"); v.IsMissing() || number(v) != int64(i) {
				t.Fatalf("document %d: %v", i, r)
			}
			if ru, _ := c.ok(`{getLastRequestStatistics: 1}`).Get("RequestCharge").AsFloat(); ru <= 0 {
				t.Errorf("document %d cost %v RU", i, ru)
			}
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			synctest.Wait() // until the getMore waits
			other.run(`{drop: "c"}`)
		})
		defer wait.Wait()
		if got := c.code(more(60_000)); got != 175 {
			t.Errorf("after the drop: %d", got)
		}
	})
}

// TestTailConcurrent checks that, with many writers at the same time, a tailable cursor returns every document once,
// in the order of the collection.
func TestTailConcurrent(t *testing.T) {
	const writers, each = 4, 50
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{create: "c", capped: true, size: 1000000}`)
	c.ok(`{insert: "c", documents: [{_id: -1}]}`)
	id := number(at(c.ok(`{find: "c", tailable: true, awaitData: true}`), "cursor.id"))
	var wait sync.WaitGroup
	for n := range writers {
		conn := w.dial()
		wait.Go(func() {
			for i := range each {
				conn.run(fmt.Sprintf(`{insert: "c", documents: [{_id: %d}]}`, n*each+i))
			}
		})
	}
	var got []int64
	for len(got) < writers*each {
		batch, _ := at(c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", maxTimeMS: 5000}`, id)), "cursor.nextBatch").Array()
		if batch.Len() == 0 {
			t.Fatalf("%d documents have come", len(got))
		}
		for v := range batch.Values() {
			d, _ := v.Doc()
			got = append(got, number(d.Get("_id")))
		}
	}
	wait.Wait()
	all, _ := at(c.ok(`{find: "c", batchSize: 1000}`), "cursor.firstBatch").Array()
	i := -1
	for v := range all.Values() {
		d, _ := v.Doc()
		if i >= 0 && number(d.Get("_id")) != got[i] {
			t.Fatalf("document %d is %d, the tail delivered %d", i, number(d.Get("_id")), got[i])
		}
		i++
	}
	if i != len(got) {
		t.Errorf("%d documents, %d delivered", i, len(got))
	}
}

// TestCappedConcurrent: while several clients write to a capped collection, no read finds more documents than max
// allows.
func TestCappedConcurrent(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{create: "c", capped: true, size: 100000, max: 7}`)
	var wait sync.WaitGroup
	for range 4 {
		conn := w.dial()
		wait.Go(func() {
			for range 40 {
				conn.run(`{insert: "c", documents: [{}, {}, {}]}`)
				if batch, _ := at(conn.run(`{find: "c"}`), "cursor.firstBatch").Array(); batch.Len() > 7 {
					t.Errorf("%d documents", batch.Len())
				}
			}
		})
	}
	wait.Wait()
	if r := c.ok(`{validate: "c", full: true}`); !r.Get("valid").Truthy() || number(r.Get("nrecords")) != 7 {
		t.Errorf("%v", r)
	}
}

// TestOplogTail checks that a tailable cursor on the oplog, opened as replication tools open it at the time of the
// newest entry, has an empty first batch, and that each getMore waits for the next entry and returns it.
func TestOplogTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c, other := w.dial(), w.dial()
		c.ok(`{insert: "c", documents: [{_id: 0}]}`)
		newest := at(c.ok(`{find: "oplog.rs", sort: {$natural: -1}, limit: 1, $db: "local"}`), "cursor.firstBatch.0.ts")
		sec, inc, ok := newest.Timestamp()
		if !ok {
			t.Fatal("the log has no newest entry")
		}
		r := c.ok(fmt.Sprintf(`{find: "oplog.rs", filter: {ts: {$gt: {$timestamp: {t: %d, i: %d}}}}, tailable: true, awaitData: true, $db: "local"}`, sec, inc))
		id := number(at(r, "cursor.id"))
		if !at(r, "cursor.firstBatch.0").IsMissing() || id == 0 {
			t.Fatalf("at the end of the log: %v", r)
		}
		more := fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "oplog.rs", $db: "local", maxTimeMS: 60000}`, id)
		for _, x := range []struct{ command, op, ns string }{
			{`{insert: "c", documents: [{_id: 1}]}`, "i", "test.c"},
			{`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 1}}}]}`, "u", "test.c"},
			{`{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`, "d", "test.c"},
			{`{drop: "c"}`, "c", "test.$cmd"},
		} {
			var wait sync.WaitGroup
			wait.Go(func() {
				synctest.Wait() // until the getMore waits
				other.run(x.command)
			})
			r := c.ok(more)
			wait.Wait()
			if op, ns := text(at(r, "cursor.nextBatch.0.op")), text(at(r, "cursor.nextBatch.0.ns")); op != x.op || ns != x.ns {
				t.Errorf("%s: %v", x.command, r)
			}
		}
	})
}

// TestWaitingCursorIsShown checks that currentOp shows, for a getMore, its cursor and the command that opened the
// cursor. If the getMore is too long to be shown, currentOp shows its comment.
func TestWaitingCursorIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c, other := w.dial(), w.dial()
		c.ok(`{create: "c", capped: true, size: 4096}`)
		c.ok(`{insert: "c", documents: [{_id: 0}]}`)
		id := number(at(c.ok(`{find: "c", tailable: true, awaitData: true}`), "cursor.id"))
		c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", maxTimeMS: 0}`, id))
		var wait sync.WaitGroup
		defer wait.Wait()
		wait.Go(func() {
			c.run(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", maxTimeMS: 60000, comment: "%s"}`, id, strings.Repeat("x", 1200)))
		})
		defer other.run(`{drop: "c"}`)
		synctest.Wait() // until the getMore waits
		op, _ := at(other.ok(`{currentOp: 1, op: "getmore", $db: "admin"}`), "inprog.0").Doc()
		if number(at(op, "cursor.cursorId")) != id || number(at(op, "cursor.operationUsingCursorId")) != number(at(op, "opid")) || at(op, "cursor.originatingCommand.tailable").IsMissing() {
			t.Errorf("the cursor of the getMore: %v", op)
		}
		if text(op.Get("planSummary")) != "COLLSCAN" {
			t.Errorf("the plan of the getMore: %v", op)
		}
		if at(op, "command.$truncated").IsMissing() || len(text(at(op, "command.comment"))) != 1200 {
			t.Errorf("the comment of the getMore: %v", op)
		}
	})
}
