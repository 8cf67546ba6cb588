package rooms

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// txnClient is a client with a session of its own and its transaction.
type txnClient struct {
	*client
	txn string
}

// dialTxn connects a client; n is the number of its session.
func (w *world) dialTxn(n int) txnClient {
	return txnClient{w.dial(), fmt.Sprintf(`, lsid: {id: {$uuid: "00000000-0000-4000-8000-%012d"}}, txnNumber: {$numberLong: "1"}, autocommit: false`, n)}
}

// start sends the first command of the transaction, given without its closing brace.
func (c txnClient) start(command string) int64 {
	return c.code(command + c.txn + `, startTransaction: true}`)
}

func (c txnClient) next(command string) int64 { return c.code(command + c.txn + `}`) }

func (c txnClient) commit() int64 { return c.next(`{commitTransaction: 1, $db: "admin"`) }

// increment is an update of the document 1, without its closing brace.
const increment = `{update: "c", updates: [{q: {_id: 1}, u: {$inc: {n: 1}}}]`

// lockTimeout sets maxTransactionLockRequestTimeoutMillis.
func (c *client) lockTimeout(ms int) {
	c.ok(fmt.Sprintf(`{setParameter: 1, maxTransactionLockRequestTimeoutMillis: %d, $db: "admin"}`, ms))
}

// queued returns a world with the document 1, and a transaction that has written it.
func queued(t *testing.T) (w *world, c *client, holder txnClient) {
	t.Helper()
	w = newWorld(t, nil)
	c = w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1, n: 0}, {_id: 2, n: 0}]}`)
	holder = w.dialTxn(1)
	if code := holder.start(increment); code != 0 {
		t.Fatalf("the first transaction: %d", code)
	}
	return w, c, holder
}

// TestFirstWriteWaits checks that the first write of a transaction waits for the transaction that has written the
// document, and then sees what that has committed.
func TestFirstWriteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, holder := queued(t)
		c.lockTimeout(1000)
		second, done := w.dialTxn(2), make(chan int64, 1)
		go func() { done <- second.start(increment) }()
		time.Sleep(100 * time.Millisecond)
		select {
		case code := <-done:
			t.Fatalf("the second transaction did not wait: %d", code)
		default:
		}
		if code := holder.commit(); code != 0 {
			t.Fatalf("commit: %d", code)
		}
		if code := <-done; code != 0 {
			t.Fatalf("the second transaction: %d", code)
		}
		if code := second.commit(); code != 0 {
			t.Fatalf("its commit: %d", code)
		}
		if n := number(at(c.ok(`{find: "c", filter: {_id: 1}}`), "cursor.firstBatch.0.n")); n != 2 {
			t.Errorf("n is %d", n)
		}
	})
}

// TestFirstWriteTimeout checks how long the first write of a transaction waits for one other transaction.
func TestFirstWriteTimeout(t *testing.T) {
	for _, x := range []struct {
		ms   int // -2: the default
		want time.Duration
	}{{-2, 5 * time.Millisecond}, {0, 0}, {30, 30 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			w, c, holder := queued(t)
			if x.ms != -2 {
				c.lockTimeout(x.ms)
			}
			from := time.Now()
			if code := w.dialTxn(2).start(increment); code != 112 {
				t.Errorf("%d ms: code %d", x.ms, code)
			}
			if d := time.Since(from); d != x.want {
				t.Errorf("%d ms: it waited %v", x.ms, d)
			}
			if code := holder.commit(); code != 0 {
				t.Errorf("commit: %d", code)
			}
		})
	}
}

// TestFirstWriteTimeoutGrows checks that the first write of a transaction waits longer for another transaction if
// transactions hold their documents for long, but not much longer.
func TestFirstWriteTimeoutGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, holder := queued(t)
		if code := holder.commit(); code != 0 {
			t.Fatalf("commit: %d", code)
		}
		for i, x := range []struct{ hold, least, most time.Duration }{
			{4 * time.Millisecond, 25 * time.Millisecond, 32 * time.Millisecond},
			{2 * time.Second, 100 * time.Millisecond, 100 * time.Millisecond},
		} {
			for n := range 30 {
				before := w.dialTxn(100*i + n + 2)
				if code := before.start(increment); code != 0 {
					t.Fatalf("start: %d", code)
				}
				time.Sleep(x.hold)
				if code := before.commit(); code != 0 {
					t.Fatalf("commit: %d", code)
				}
			}
			last := w.dialTxn(100*i + 90)
			if code := last.start(increment); code != 0 {
				t.Fatalf("start: %d", code)
			}
			from := time.Now()
			if code := w.dialTxn(100*i + 91).start(increment); code != 112 {
				t.Errorf("holds of %v: %d", x.hold, code)
			}
			if d := time.Since(from); d < x.least || d > x.most {
				t.Errorf("holds of %v: it waited %v", x.hold, d)
			}
			if code := last.commit(); code != 0 {
				t.Fatalf("commit: %d", code)
			}
		}
	})
}

// TestQueueMovesOn checks that transactions get a document in the order in which they came, and that the wait does not
// end while the queue moves on.
func TestQueueMovesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, holder := queued(t)
		const n = 12
		order := make(chan int, n)
		for i := range n {
			go func() {
				x := w.dialTxn(i + 2)
				if code := x.start(increment); code != 0 {
					t.Errorf("transaction %d: %d", i, code)
				}
				order <- i
				time.Sleep(4 * time.Millisecond)
				if code := x.commit(); code != 0 {
					t.Errorf("commit %d: %d", i, code)
				}
			}()
			synctest.Wait() // it has its place in the queue
		}
		time.Sleep(4 * time.Millisecond)
		if code := holder.commit(); code != 0 {
			t.Fatalf("commit: %d", code)
		}
		for i := range n {
			if got := <-order; got != i {
				t.Errorf("transaction %d was the %d-th", got, i)
			}
		}
		time.Sleep(time.Second)
		if n := number(at(c.ok(`{find: "c", filter: {_id: 1}}`), "cursor.firstBatch.0.n")); n != 13 {
			t.Errorf("n is %d", n)
		}
	})
}

// TestOnlyFirstWriteWaits checks that a transaction does not wait once it has read or written: its snapshot has to stay.
func TestOnlyFirstWriteWaits(t *testing.T) {
	for name, before := range map[string]string{
		"find":    `{find: "c", filter: {_id: 2}`,
		"nothing": `{update: "c", updates: [{q: {_id: 3}, u: {$inc: {n: 1}}}]`,
		"count":   `{aggregate: "c", cursor: {}, pipeline: [{$count: "n"}]`,
		"write":   `{update: "c", updates: [{q: {_id: 2}, u: {$inc: {n: 1}}}]`,
	} {
		synctest.Test(t, func(t *testing.T) {
			w, c, _ := queued(t)
			c.lockTimeout(1000)
			x, from := w.dialTxn(2), time.Now()
			if code := x.start(before); code != 0 {
				t.Fatalf("%s: %d", name, code)
			}
			if code := x.next(increment); code != 112 || time.Since(from) != 0 {
				t.Errorf("%s: the second statement: %d after %v", name, code, time.Since(from))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w, c, _ := queued(t)
		c.lockTimeout(1000)
		from := time.Now()
		if code := w.dialTxn(2).start(`{update: "c", updates: [{q: {_id: 3}, u: {$inc: {n: 1}}}, {q: {_id: 1}, u: {$inc: {n: 1}}}]`); code != 112 || time.Since(from) != 0 {
			t.Errorf("the second statement of a command: %d after %v", code, time.Since(from))
		}
	})
}

// TestFirstWriteInterrupted checks that maxTimeMS, killOp and killSessions end the wait, and that the document goes to
// the next transaction in the queue.
func TestFirstWriteInterrupted(t *testing.T) {
	for name, x := range map[string]struct {
		argument, kill string
		code           int64
	}{
		"maxTimeMS":    {`, maxTimeMS: 50`, ``, 50},
		"killSessions": {``, `{killSessions: [{id: {$uuid: "00000000-0000-4000-8000-000000000002"}}]}`, 11601},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, c, holder := queued(t)
			c.lockTimeout(-1)
			second, third := make(chan int64, 1), make(chan int64, 1)
			go func() { second <- w.dialTxn(2).start(increment + x.argument) }()
			synctest.Wait()
			last := w.dialTxn(3)
			go func() { third <- last.start(increment) }()
			synctest.Wait()
			if x.kill != "" {
				c.ok(x.kill)
			}
			if code := <-second; code != x.code {
				t.Errorf("%s: %d", name, code)
			}
			if code := holder.commit(); code != 0 {
				t.Errorf("%s: commit: %d", name, code)
			}
			if code := <-third; code != 0 {
				t.Errorf("%s: the third transaction: %d", name, code)
			}
			if code := last.commit(); code != 0 {
				t.Errorf("%s: its commit: %d", name, code)
			}
		})
	}
}

// TestTakersInTransactions checks takers of a queue of documents: a transaction that has waited for a document which is
// then taken takes the next, and leaves the first to others.
func TestTakersInTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, _ := queued(t)
		c.lockTimeout(-1)
		const take = `{findAndModify: "q", query: {st: 0}, sort: {_id: 1}, update: {$set: {st: 1}}`
		c.ok(`{insert: "q", documents: [{_id: 1, st: 0}, {_id: 2, st: 0}]}`)
		first, second := w.dialTxn(2), w.dialTxn(3)
		if code := first.start(take); code != 0 {
			t.Fatalf("first: %d", code)
		}
		done := make(chan int64, 1)
		go func() { done <- second.start(take) }()
		synctest.Wait()
		if code := first.commit(); code != 0 {
			t.Fatalf("commit: %d", code)
		}
		if code := <-done; code != 0 {
			t.Fatalf("second: %d", code)
		}
		c.ok(`{update: "q", updates: [{q: {_id: 1}, u: {$set: {x: 1}}}], maxTimeMS: 1000}`)
		if code := second.commit(); code != 0 {
			t.Fatalf("commit: %d", code)
		}
		if n := number(c.ok(`{count: "q", query: {st: 1}}`).Get("n")); n != 2 {
			t.Errorf("%d documents were taken", n)
		}
	})
}

// TestPlainWritesTakeTurns checks that a write outside of transactions that waits for a document gets its turn before
// all the transactions that came later.
func TestPlainWritesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, holder := queued(t)
		c.lockTimeout(-1)
		plain := make(chan int64, 1)
		go func() { plain <- w.dial().code(increment + `}`) }()
		synctest.Wait()
		x, second := w.dialTxn(2), make(chan int64, 1)
		go func() { second <- x.start(increment) }()
		synctest.Wait()
		if code := holder.commit(); code != 0 {
			t.Fatalf("commit: %d", code)
		}
		synctest.Wait()
		select {
		case code := <-plain:
			if code != 0 {
				t.Errorf("the plain write: %d", code)
			}
		default:
			t.Error("the plain write goes on waiting")
		}
		if code := <-second; code != 0 {
			t.Errorf("the transaction: %d", code)
		}
		if code := x.commit(); code != 0 {
			t.Errorf("its commit: %d", code)
		}
		if n := number(at(c.ok(`{find: "c", filter: {_id: 1}}`), "cursor.firstBatch.0.n")); n != 3 {
			t.Errorf("n is %d", n)
		}
	})
}
