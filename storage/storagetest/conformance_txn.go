package storagetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
)

func snapshotAndOwnWrites(e env) {
	e.put("a", "1", "b", "1")
	t, r := e.begin(storage.TxnOptions{}), e.snapshot(0)
	defer r.Close()
	e.put("a", "2", "b", "", "c", "2")
	e.want(t, "a", "1", "b", "1", "c", "")
	e.want(r, "a", "1", "b", "1", "c", "")
	e.sets(t, "d", "own", "a", "own", "b", "")
	e.want(t, "a", "own", "b", "", "c", "", "d", "own")
	e.want(r, "a", "1", "b", "1", "d", "")
	t.Close()
	n := e.snapshot(0)
	defer n.Close()
	e.want(n, "a", "2", "b", "", "c", "2", "d", "")
	e.want(r, "a", "1", "b", "1", "c", "")
}

func firstCommitterWins(e env) {
	e.put("a", "0")
	t1, t2, t3 := e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
	e.sets(t1, "a", "1", "x", "1")
	e.sets(t2, "a", "2", "y", "2")
	e.sets(t3, "z", "3")
	e.commit(t2)
	e.conflict(t1)
	e.commit(t3)
	r := e.snapshot(0)
	defer r.Close()
	e.want(r, "a", "2", "x", "", "y", "2", "z", "3")
	e.put("a", "4") // a fresh transaction does not conflict
}

func absentKeysConflict(e env) {
	t1, t2 := e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
	e.sets(t1, "new", "1")
	e.sets(t2, "new", "2")
	e.commit(t1)
	e.conflict(t2)
	t1, t2 = e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
	e.sets(t1, "new", "")
	e.sets(t2, "new", "3")
	e.commit(t1)
	e.conflict(t2)
	t1, t2 = e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
	e.sets(t1, "new", "")
	e.sets(t2, "new", "")
	e.commit(t1)
	e.conflict(t2)
}

func writeSkew(e env) {
	for _, lock := range []bool{false, true} {
		e.put("a", "on", "b", "on")
		t1, t2 := e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
		e.want(t1, "b", "on")
		e.want(t2, "a", "on")
		e.sets(t1, "a", "off")
		e.sets(t2, "b", "off")
		if lock {
			e.check(t1.Lock(e.ctx, []byte("b")))
			e.check(t2.Lock(e.ctx, []byte("a")))
		}
		e.commit(t1)
		if lock {
			e.conflict(t2)
		} else {
			e.commit(t2)
		}
	}
}

func lockChangesNothing(e env) {
	e.put("a", "1")
	t1, t2, t3 := e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
	e.check(t1.Lock(e.ctx, []byte("a"), []byte("b")))
	e.sets(t2, "a", "2")
	e.check(t3.Lock(e.ctx, []byte("b")))
	e.commit(t1)
	e.conflict(t2)
	e.conflict(t3)
	r := e.snapshot(0)
	defer r.Close()
	e.equal(e.scan(r, "", "", false), "a=1")
}

func claimWarns(e env) {
	e.put("a", "1", "b", "1")
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	e.check(t.Claim(e.ctx, []byte("a"), []byte("b"), []byte("new")))
	e.put("a", "2")
	e.is(t.Claim(e.ctx, []byte("a")), storage.ErrConflict)
	e.is(t.Claim(e.ctx, []byte("b"), []byte("a")), storage.ErrConflict)
	e.check(t.Claim(e.ctx, []byte("b")))
	e.put("b", "")
	e.is(t.Claim(e.ctx, []byte("b")), storage.ErrConflict)
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	e.is(t.Claim(ctx, []byte("new")), context.Canceled)
}

func sharedTimestamps(e env) {
	e.put("a", "1")
	r1 := e.snapshot(0)
	e.put("a", "2")
	r2 := e.snapshot(r1.ReadTimestamp())
	e.equal(r2.ReadTimestamp(), r1.ReadTimestamp())
	r1.Close()
	r1.Close()
	e.put("a", "3")
	t := e.begin(storage.TxnOptions{At: r2.ReadTimestamp(), ReadOnly: true})
	e.want(r2, "a", "1")
	r2.Close()
	e.want(t, "a", "1")
	t.Close()
	r := e.snapshot(0)
	e.want(r, "a", "3")
	r.Close()
}

func beginInThePast(e env) {
	e.put("a", "1")
	r := e.snapshot(0)
	defer r.Close()
	e.put("a", "2")
	for _, key := range []string{"a", "b"} {
		t := e.begin(storage.TxnOptions{At: r.ReadTimestamp()})
		e.want(t, "a", "1")
		e.sets(t, key, "3")
		if key == "a" {
			e.conflict(t)
		} else {
			e.commit(t)
		}
	}
}

func unknownTimestamps(e env) {
	ts := e.put("a", "1")
	later := ts + storage.MakeTimestamp(10, 0) // some engines' timestamps increase also while nothing is written
	_, err := e.s.Snapshot(e.ctx, later)
	e.is(err, storage.ErrSnapshotTooOld)
	_, err = e.s.Begin(e.ctx, storage.TxnOptions{At: later})
	e.is(err, storage.ErrSnapshotTooOld)
	r := e.snapshot(ts)
	e.equal(r.ReadTimestamp(), ts)
	r.Close()
}

func writesCopy(e env) {
	t := e.begin(storage.TxnOptions{})
	k, v := []byte("k"), []byte("v")
	e.check(t.Set(k, v))
	k[0], v[0] = 'x', 'x'
	e.check(t.AppendLog(k, v))
	k[0], v[0] = 'y', 'y'
	e.check(t.Delete(k))
	k[0] = 'z'
	ts := e.commit(t)
	r := e.snapshot(0)
	defer r.Close()
	e.equal(e.scan(r, "", "", false), "k=v")
	_, err := e.s.ReadLog(e.ctx, []byte("x"), 0, func(got, _ storage.Timestamp, rec []byte) bool {
		e.equal(got, ts)
		e.equal(string(rec), "x")
		return true
	})
	e.check(err)
}

func savepoints(e env) {
	e.put("a", "1")
	t := e.begin(storage.TxnOptions{})
	e.sets(t, "b", "2")
	e.check(t.AppendLog([]byte("s"), []byte("kept")))
	sp, n := t.Savepoint(), t.BufferedBytes()
	for range 2 {
		e.sets(t, "a", "x", "b", "", "c", "x")
		e.check(t.Lock(e.ctx, []byte("l")))
		e.check(t.AppendLog([]byte("s"), []byte("gone")))
		if t.BufferedBytes() <= n {
			e.t.Fatal("BufferedBytes does not grow")
		}
		inner := t.Savepoint()
		e.sets(t, "d", "x")
		t.RollbackTo(inner)
		e.want(t, "d", "", "c", "x")
		t.RollbackTo(sp)
		e.equal(t.BufferedBytes(), n)
		e.want(t, "a", "1", "b", "2", "c", "")
	}
	e.put("l", "other") // the lock is gone too
	ts := e.commit(t)
	r := e.snapshot(0)
	defer r.Close()
	e.equal(e.scan(r, "", "", false), "a=1 b=2 l=other")
	e.equal(e.log("s", 0), fmt.Sprintf("%d:kept", ts))
}

func snapshotOfTxn(e env) {
	e.put("a", "1", "c", "1", "e", "1")
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	none := t.Snapshot()
	e.sets(t, "b", "own", "c", "", "d", "own")
	some := t.Snapshot()
	var its []storage.Iterator
	for _, reverse := range []bool{false, true} {
		it, err := some.Iter(e.ctx, storage.Range{Start: []byte("a"), End: []byte("z")}, storage.IterOptions{Reverse: reverse})
		e.check(err)
		defer it.Close()
		e.equal(it.Next(), true)
		its = append(its, it)
	}
	sp := t.Savepoint()
	for i := range 300 { // so that the buffer splits its blocks
		e.sets(t, fmt.Sprintf("aa%03d", i), "later", fmt.Sprintf("dd%03d", i), "later")
	}
	t.RollbackTo(sp)
	for i := range 300 {
		e.sets(t, fmt.Sprintf("ab%03d", i), "later")
	}
	e.sets(t, "a", "later", "b", "", "c", "later", "d", "later", "e", "", "f", "later")
	for i, want := range []string{"a=1 b=own d=own e=1", "e=1 d=own b=own a=1"} {
		var got []string
		for ok := true; ok; ok = its[i].Next() {
			got = append(got, string(its[i].Key())+"="+string(its[i].Value()))
		}
		e.check(its[i].Err())
		e.equal(strings.Join(got, " "), want)
	}
	e.equal(e.scan(some, "", "", false), "a=1 b=own d=own e=1")
	e.equal(e.scan(none, "", "", true), "e=1 c=1 a=1")
	e.want(some, "a", "1", "b", "own", "c", "", "d", "own", "e", "1", "f", "")
	e.want(none, "a", "1", "b", "", "c", "1", "f", "")
	e.want(t, "a", "later", "b", "", "c", "later", "f", "later")
}

func commitEnds(e env) {
	t := e.begin(storage.TxnOptions{})
	e.sets(t, "a", "1")
	e.commit(t)
	e.is(t.Set([]byte("a"), []byte("2")), storage.ErrClosed)
	_, err := t.Get(e.ctx, []byte("a"), nil)
	e.is(err, storage.ErrClosed)
	_, err = t.Commit(e.ctx, storage.Buffered)
	e.is(err, storage.ErrClosed)
	t.Close()
	t.Close()
	t1, t2 := e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
	e.sets(t1, "a", "3")
	e.sets(t2, "a", "4")
	e.commit(t1)
	e.conflict(t2)
	e.is(t2.Delete([]byte("a")), storage.ErrClosed)
	t2.Close()
}

func closeAbandons(e env) {
	t := e.begin(storage.TxnOptions{})
	e.sets(t, "a", "1")
	e.check(t.AppendLog([]byte("s"), []byte("r")))
	t.Close()
	_, err := t.Commit(e.ctx, storage.Buffered)
	e.is(err, storage.ErrClosed)
	r := e.snapshot(0)
	defer r.Close()
	e.equal(e.scan(r, "", "", false), "")
	e.equal(e.log("s", 0), "")
}

func emptyCommit(e env) {
	ts := e.put("a", "1")
	t := e.begin(storage.TxnOptions{})
	e.want(t, "a", "1")
	read := t.ReadTimestamp()
	if read < ts {
		e.t.Fatalf("a snapshot at %v does not see the commit at %v", read, ts)
	}
	e.equal(e.commit(t), read)
	if e.s.Latest() < read {
		e.t.Fatal("Latest is before what was read")
	}
}

func readOnly(e env) {
	t := e.begin(storage.TxnOptions{ReadOnly: true})
	e.is(t.Set([]byte("a"), []byte("1")), storage.ErrReadOnly)
	e.is(t.Delete([]byte("a")), storage.ErrReadOnly)
	e.is(t.Lock(e.ctx, []byte("a")), storage.ErrReadOnly)
	e.is(t.AppendLog([]byte("s"), []byte("r")), storage.ErrReadOnly)
	e.equal(t.BufferedBytes(), 0)
	e.commit(t)
}

func latch(e env) {
	e.put("n", "0")
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				t, err := e.s.Begin(e.ctx, storage.TxnOptions{Latch: [][]byte{[]byte("n"), fmt.Appendf(nil, "other%d", w)}})
				if err != nil {
					e.t.Error(err)
					return
				}
				var n int
				v, err := t.Get(e.ctx, []byte("n"), nil)
				if err == nil {
					_, err = fmt.Sscan(string(v), &n)
				}
				if err == nil {
					err = t.Set([]byte("n"), fmt.Append(nil, n+1))
				}
				if err == nil {
					_, err = t.Commit(e.ctx, storage.Synced)
				}
				if err != nil {
					e.t.Error(err)
				}
				t.Close()
			}
		})
	}
	wg.Wait()
	r := e.snapshot(0)
	defer r.Close()
	e.want(r, "n", fmt.Sprint(writers*each))
}

func latchEnds(e env) {
	o := storage.TxnOptions{Latch: [][]byte{[]byte("a")}}
	t := e.begin(o)
	ctx, cancel := context.WithTimeout(e.ctx, time.Millisecond)
	defer cancel()
	_, err := e.s.Begin(ctx, o)
	e.is(err, context.DeadlineExceeded)
	t.Close()
	t = e.begin(o)
	e.sets(t, "a", "1")
	e.commit(t)
	t = e.begin(o)
	e.want(t, "a", "1")
	e.commit(t)
	e.begin(o).Close()
}
