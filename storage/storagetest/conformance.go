package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Open returns an empty store. The test body closes it.
type Open func(tb testing.TB) storage.Store

// Conformance checks the contract. It takes well under a second per engine.
func Conformance(t *testing.T, open Open) {
	for _, c := range conformance {
		t.Run(c.name, func(t *testing.T) {
			e := env{t: t, s: open(t), ctx: t.Context()}
			c.run(e)
			if err := e.s.Close(); err != nil && c.name != "a closed store refuses" {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// conformance lists the sentences.
var conformance = []struct {
	name string
	run  func(e env)
}{
	{"txn reads its snapshot and its own writes", snapshotAndOwnWrites},
	{"first committer wins", firstCommitterWins},
	{"deletes and inserts of absent keys conflict", absentKeysConflict},
	{"write skew is possible and Lock prevents it", writeSkew},
	{"Lock changes nothing", lockChangesNothing},
	{"Conflicts warns early", conflictsWarns},
	{"open readers share their timestamp", sharedTimestamps},
	{"begin in the past conflicts with what came after", beginInThePast},
	{"unknown timestamps are refused", unknownTimestamps},
	{"Get appends and copies", getCopies},
	{"Has agrees with Get", hasAgrees},
	{"GetMany emits in order", getMany},
	{"iterators walk ranges both ways", iterRanges},
	{"iterators merge own writes", iterMerges},
	{"Seek goes only onward", seekOnward},
	{"an iterator keeps its snapshot", iterKeepsSnapshot},
	{"keys and values are checked", keysChecked},
	{"Set, Delete, Lock and AppendLog copy", writesCopy},
	{"savepoints undo writes, locks and log", savepoints},
	{"Commit ends the transaction", commitEnds},
	{"Close abandons", closeAbandons},
	{"an empty commit changes nothing", emptyCommit},
	{"read-only transactions refuse writes", readOnly},
	{"timestamps rise", timestampsRise},
	{"log records come in commit order", logOrder},
	{"log reading resumes", logResumes},
	{"the log shows only durable records", logDurable},
	{"WaitLog wakes", waitLog},
	{"TruncateLog drops and tells", truncateLog},
	{"a log tail misses nothing", logTail},
	{"Sync makes durable", syncDurable},
	{"latched writers of a key never conflict", latch},
	{"a latch ends with Close and heeds its context", latchEnds},
	{"DeleteRange removes exactly the range", deleteRange},
	{"ApproximateBytes sees small ranges", approximateBytes},
	{"a cancelled context stops reads and commits", cancelled},
	{"a closed store refuses", closedStore},
}

// env is a store under test.
type env struct {
	t   *testing.T
	s   storage.Store
	ctx context.Context
}

func (e env) check(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e env) is(err, want error) {
	e.t.Helper()
	if !errors.Is(err, want) {
		e.t.Fatalf("got error %v, want %v", err, want)
	}
}

func (e env) begin(o storage.TxnOptions) storage.Txn {
	e.t.Helper()
	t, err := e.s.Begin(e.ctx, o)
	e.check(err)
	return t
}

func (e env) snapshot(at storage.Timestamp) storage.Reader {
	e.t.Helper()
	r, err := e.s.Snapshot(e.ctx, at)
	e.check(err)
	return r
}

// put commits pairs: key, value, …; value "" deletes.
func (e env) put(pairs ...string) storage.Timestamp {
	e.t.Helper()
	t := e.begin(storage.TxnOptions{})
	e.sets(t, pairs...)
	return e.commit(t)
}

func (e env) sets(t storage.Txn, pairs ...string) {
	e.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			e.check(t.Delete([]byte(pairs[i])))
		} else {
			e.check(t.Set([]byte(pairs[i]), []byte(pairs[i+1])))
		}
	}
}

func (e env) commit(t storage.Txn) storage.Timestamp {
	e.t.Helper()
	ts, err := t.Commit(e.ctx, storage.Synced)
	e.check(err)
	return ts
}

func (e env) conflict(t storage.Txn) {
	e.t.Helper()
	_, err := t.Commit(e.ctx, storage.Buffered)
	e.is(err, storage.ErrConflict)
}

// get is the value or "".
func (e env) get(r storage.Reader, key string) string {
	e.t.Helper()
	v, err := r.Get(e.ctx, []byte(key), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return ""
	}
	e.check(err)
	return string(v)
}

func (e env) want(r storage.Reader, pairs ...string) {
	e.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := e.get(r, pairs[i]); got != pairs[i+1] {
			e.t.Fatalf("%s = %q, want %q", pairs[i], got, pairs[i+1])
		}
	}
}

// scan is "k=v k=v …" of a range.
func (e env) scan(r storage.Reader, start, end string, reverse bool) string {
	e.t.Helper()
	rg := storage.Range{Start: []byte(start)}
	if end != "" {
		rg.End = []byte(end)
	}
	it, err := r.Iter(e.ctx, rg, storage.IterOptions{Reverse: reverse})
	e.check(err)
	defer it.Close()
	var out []byte
	for it.Next() {
		if out != nil {
			out = append(out, ' ')
		}
		out = fmt.Appendf(out, "%s=%s", it.Key(), it.Value())
	}
	e.check(it.Err())
	if it.Next() {
		e.t.Fatal("Next after the end")
	}
	return string(out)
}

func (e env) equal(got, want any) {
	e.t.Helper()
	if got != want {
		e.t.Fatalf("got %v, want %v", got, want)
	}
}

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

func conflictsWarns(e env) {
	e.put("a", "1", "b", "1")
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	e.equal(t.Conflicts([]byte("a")), false)
	e.put("a", "2")
	e.equal(t.Conflicts([]byte("a")), true)
	e.equal(t.Conflicts([]byte("b")), false)
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
	_, err := e.s.Snapshot(e.ctx, ts+1000)
	e.is(err, storage.ErrSnapshotTooOld)
	_, err = e.s.Begin(e.ctx, storage.TxnOptions{At: ts + 1000})
	e.is(err, storage.ErrSnapshotTooOld)
	r := e.snapshot(ts)
	e.equal(r.ReadTimestamp(), ts)
	r.Close()
}

func getCopies(e env) {
	e.put("a", "value")
	r := e.snapshot(0)
	defer r.Close()
	v, err := r.Get(e.ctx, []byte("a"), []byte("pre-"))
	e.check(err)
	e.equal(string(v), "pre-value")
	v[4] = 'X'
	e.want(r, "a", "value")
	v, err = r.Get(e.ctx, []byte("nope"), []byte("kept"))
	e.is(err, storage.ErrNotFound)
	e.equal(string(v), "kept")
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	e.sets(t, "b", "own")
	v, err = t.Get(e.ctx, []byte("b"), nil)
	e.check(err)
	v[0] = 'X'
	e.want(t, "b", "own")
}

func hasAgrees(e env) {
	e.put("a", "1", "ab", "1", "c", "1")
	e.put("c", "")
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	r := e.snapshot(0)
	defer r.Close()
	e.sets(t, "d", "1", "a", "")
	for _, v := range []storage.Reader{t, r} {
		for _, k := range []string{"a", "aa", "ab", "abc", "b", "c", "d", "\x01", "\xfe"} {
			ok, err := v.Has(e.ctx, []byte(k))
			e.check(err)
			e.equal(ok, e.get(v, k) != "")
		}
	}
}

func getMany(e env) {
	e.put("a", "1", "b", "2", "c", "3")
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	e.sets(t, "b", "own", "c", "", "d", "4")
	keys := [][]byte{[]byte("d"), []byte("a"), []byte("c"), []byte("x"), []byte("b"), []byte("a")}
	var got []string
	e.check(t.GetMany(e.ctx, keys, func(i int, v []byte) error {
		if i != len(got) {
			e.t.Fatalf("emit %d at place %d", i, len(got))
		}
		if v == nil {
			got = append(got, "-")
		} else {
			got = append(got, string(v))
		}
		return nil
	}))
	e.equal(fmt.Sprint(got), "[4 1 - - own 1]")
	stop := errors.New("stop")
	n := 0
	e.is(t.GetMany(e.ctx, keys, func(int, []byte) error { n++; return stop }), stop)
	e.equal(n, 1)
}

func iterRanges(e env) {
	e.put("a", "1", "b", "2", "c", "3", "d", "4")
	r := e.snapshot(0)
	defer r.Close()
	for _, c := range [][3]string{
		{"", "", "a=1 b=2 c=3 d=4"}, {"b", "d", "b=2 c=3"}, {"bb", "cc", "c=3"}, {"b", "b", ""}, {"x", "", ""},
		{"d", "a", ""}, {"", "b", "a=1"}, {"\x01", "\xfe", "a=1 b=2 c=3 d=4"},
	} {
		e.equal(e.scan(r, c[0], c[1], false), c[2])
		want := bytes.Fields([]byte(c[2]))
		slices.Reverse(want)
		e.equal(e.scan(r, c[0], c[1], true), string(bytes.Join(want, []byte(" "))))
	}
}

func iterMerges(e env) {
	e.put("a", "1", "b", "2", "c", "3", "d", "4")
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	e.sets(t, "a", "", "b", "own", "bb", "own", "d", "", "e", "own", "f", "")
	e.equal(e.scan(t, "", "", false), "b=own bb=own c=3 e=own")
	e.equal(e.scan(t, "", "", true), "e=own c=3 bb=own b=own")
	e.equal(e.scan(t, "b", "c", false), "b=own bb=own")
	e.equal(e.scan(t, "b", "c", true), "bb=own b=own")
}

func seekOnward(e env) {
	e.put("a", "1", "c", "3", "e", "5", "g", "7")
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	own := e.begin(storage.TxnOptions{})
	defer own.Close()
	e.sets(own, "x", "own")
	all := storage.Range{Start: []byte("a"), End: []byte("h")}
	for _, r := range []storage.Reader{t, own} {
		it, err := r.Iter(e.ctx, all, storage.IterOptions{})
		e.check(err)
		for _, step := range [][2]string{{"b", "c"}, {"a", "c"}, {"c", "c"}, {"", "e"}, {"f", "g"}} {
			ok := step[0] == "" && it.Next() || step[0] != "" && it.Seek([]byte(step[0]))
			e.equal(ok, true)
			e.equal(string(it.Key()), step[1])
		}
		e.equal(it.Seek([]byte("gg")), false)
		e.equal(it.Next(), false)
		e.equal(it.Seek([]byte("a")), false)
		e.check(it.Err())
		it.Close()
		it.Close()
		it, err = r.Iter(e.ctx, all, storage.IterOptions{Reverse: true})
		e.check(err)
		for _, step := range [][2]string{{"f", "e"}, {"g", "e"}, {"e", "e"}, {"", "c"}, {"b", "a"}} {
			ok := step[0] == "" && it.Next() || step[0] != "" && it.Seek([]byte(step[0]))
			e.equal(ok, true)
			e.equal(string(it.Key()), step[1])
		}
		e.equal(it.Next(), false)
		it.Close()
		it, err = r.Iter(e.ctx, storage.Range{Start: []byte("b"), End: []byte("f")}, storage.IterOptions{})
		e.check(err)
		e.equal(it.Seek([]byte("a")), true) // before the range: its start
		e.equal(string(it.Key()), "c")
		e.equal(it.Seek([]byte("f")), false)
		it.Close()
	}
}

func iterKeepsSnapshot(e env) {
	e.put("a", "1", "b", "1", "c", "1")
	r := e.snapshot(0)
	it, err := r.Iter(e.ctx, storage.Range{}, storage.IterOptions{})
	e.check(err)
	e.equal(it.Next(), true)
	e.put("b", "", "bb", "2", "c", "2")
	e.equal(it.Next(), true)
	e.equal(string(it.Key())+string(it.Value()), "b1")
	e.equal(it.Next(), true)
	e.equal(string(it.Key())+string(it.Value()), "c1")
	e.equal(it.Next(), false)
	it.Close()
	r.Close()
}

func keysChecked(e env) {
	t := e.begin(storage.TxnOptions{})
	defer t.Close()
	for _, k := range []string{"", "\x00", "\x00a", "\xff"} {
		e.is(t.Set([]byte(k), []byte("v")), storage.ErrInvalidKey)
		e.is(t.Delete([]byte(k)), storage.ErrInvalidKey)
		e.is(t.Lock(e.ctx, []byte(k)), storage.ErrInvalidKey)
	}
	e.is(t.Set([]byte("k"), nil), storage.ErrInvalidKey)
	e.equal(e.scan(t, "", "", false), "")
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
	_, err := e.s.ReadLog(e.ctx, []byte("x"), 0, func(got storage.Timestamp, rec []byte) bool {
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
	e.equal(e.commit(t), ts)
	e.equal(e.s.Latest(), ts)
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

func timestampsRise(e env) {
	last := e.s.Latest()
	if last == 0 {
		e.t.Fatal("Latest is 0")
	}
	for i := range 20 {
		ts := e.put("a", fmt.Sprint(i+1))
		if ts <= last {
			e.t.Fatalf("%v after %v", ts, last)
		}
		last = ts
		e.equal(e.s.Latest(), ts)
		if e.s.Durable() < ts {
			e.t.Fatal("a synced commit is not durable")
		}
		r := e.snapshot(0)
		e.equal(r.ReadTimestamp(), ts)
		r.Close()
	}
}

// log is "ts:rec ts:rec …" of a stream.
func (e env) log(stream string, after storage.Timestamp) string {
	e.t.Helper()
	var out []byte
	_, err := e.s.ReadLog(e.ctx, []byte(stream), after, func(ts storage.Timestamp, rec []byte) bool {
		if out != nil {
			out = append(out, ' ')
		}
		out = fmt.Appendf(out, "%d:%s", ts, rec)
		return true
	})
	e.check(err)
	return string(out)
}

// logged commits records of "stream record" pairs.
func (e env) logged(d storage.Durability, pairs ...string) storage.Timestamp {
	e.t.Helper()
	t := e.begin(storage.TxnOptions{})
	for i := 0; i < len(pairs); i += 2 {
		e.check(t.AppendLog([]byte(pairs[i]), []byte(pairs[i+1])))
	}
	ts, err := t.Commit(e.ctx, d)
	e.check(err)
	return ts
}

func logOrder(e env) {
	first, second := e.begin(storage.TxnOptions{}), e.begin(storage.TxnOptions{})
	e.check(first.AppendLog([]byte("s"), []byte("f")))
	e.check(second.AppendLog([]byte("s"), []byte("z")))
	e.check(second.AppendLog([]byte("st"), []byte("other")))
	e.check(second.AppendLog([]byte("s"), []byte("a")))
	ts2 := e.commit(second)
	ts1 := e.commit(first)
	e.equal(e.log("s", 0), fmt.Sprintf("%d:z %d:a %d:f", ts2, ts2, ts1))
	e.equal(e.log("s", ts2), fmt.Sprintf("%d:f", ts1))
	e.equal(e.log("st", 0), fmt.Sprintf("%d:other", ts2))
	e.equal(e.log("", 0), "")
}

func logResumes(e env) {
	e.logged(storage.Synced, "s", "1", "s", "2")
	ts := e.logged(storage.Synced, "s", "3", "s", "4")
	n := 0
	next, err := e.s.ReadLog(e.ctx, []byte("s"), 0, func(storage.Timestamp, []byte) bool { n++; return n < 4 })
	e.check(err)
	e.equal(next, ts-1)
	e.equal(e.log("s", next), fmt.Sprintf("%d:3 %d:4", ts, ts)) // the commit in hand comes whole again
	next, err = e.s.ReadLog(e.ctx, []byte("s"), 0, func(storage.Timestamp, []byte) bool { return true })
	e.check(err)
	e.equal(next, e.s.Durable())
	e.equal(e.log("s", next), "")
	ts = e.logged(storage.Synced, "s", "5")
	e.equal(e.log("s", next), fmt.Sprintf("%d:5", ts))
}

func logDurable(e env) {
	ts := e.logged(storage.Buffered, "s", "1")
	_, err := e.s.ReadLog(e.ctx, []byte("s"), 0, func(got storage.Timestamp, _ []byte) bool {
		if e.s.Durable() < got {
			e.t.Error("a record that is not durable")
		}
		return true
	})
	e.check(err)
	e.check(e.s.WaitLog(e.ctx, ts-1)) // the background sync comes
	e.equal(e.log("s", 0), fmt.Sprintf("%d:1", ts))
}

func waitLog(e env) {
	ts := e.put("a", "1")
	e.check(e.s.WaitLog(e.ctx, ts-1))
	ctx, cancel := context.WithTimeout(e.ctx, time.Millisecond)
	defer cancel()
	e.is(e.s.WaitLog(ctx, ts), context.DeadlineExceeded)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := e.s.WaitLog(e.ctx, ts); err != nil {
				e.t.Error(err)
			}
			if e.s.Durable() <= ts {
				e.t.Error("woken for nothing")
			}
		})
	}
	time.Sleep(time.Millisecond)
	e.put("a", "2")
	wg.Wait()
}

func truncateLog(e env) {
	ts1 := e.logged(storage.Synced, "s", "1", "other", "1")
	ts2 := e.logged(storage.Synced, "s", "2")
	ts3 := e.logged(storage.Synced, "s", "3")
	e.check(e.s.TruncateLog(e.ctx, []byte("s"), ts2))
	e.check(e.s.TruncateLog(e.ctx, []byte("s"), ts1))
	e.equal(e.log("s", 0), fmt.Sprintf("%d:3", ts3))
	e.equal(e.log("s", ts2), fmt.Sprintf("%d:3", ts3))
	_, err := e.s.ReadLog(e.ctx, []byte("s"), ts1, func(storage.Timestamp, []byte) bool { return true })
	e.is(err, storage.ErrLogTruncated)
	e.equal(e.log("other", 0), fmt.Sprintf("%d:1", ts1))
}

func logTail(e env) {
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				d := storage.Synced
				if i%3 == 0 {
					d = storage.Buffered
				}
				e.logged(d, "s", fmt.Sprintf("%d-%d", w, i))
			}
		})
	}
	var after, last storage.Timestamp
	next := [writers]int{}
	for n := 0; n < writers*each; {
		var err error
		after, err = e.s.ReadLog(e.ctx, []byte("s"), after, func(ts storage.Timestamp, rec []byte) bool {
			var w, i int
			if _, err := fmt.Sscanf(string(rec), "%d-%d", &w, &i); err != nil || next[w] != i || ts <= last {
				e.t.Errorf("record %s at %v after %v, want number %d", rec, ts, last, next[w])
			}
			next[w]++
			n++
			last = ts
			return true
		})
		e.check(err)
		if n < writers*each {
			e.check(e.s.WaitLog(e.ctx, after))
		}
	}
	wg.Wait()
}

func syncDurable(e env) {
	t := e.begin(storage.TxnOptions{})
	e.sets(t, "a", "1")
	ts, err := t.Commit(e.ctx, storage.Buffered)
	e.check(err)
	e.check(e.s.Sync(e.ctx))
	if e.s.Durable() < ts {
		e.t.Fatal("not durable")
	}
	e.check(e.s.Sync(e.ctx))
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

func deleteRange(e env) {
	e.put("a", "1", "b", "1", "c", "1", "d", "1")
	e.check(e.s.DeleteRange(e.ctx, storage.Range{Start: []byte("b"), End: []byte("d")}))
	r := e.snapshot(0)
	e.equal(e.scan(r, "", "", false), "a=1 d=1")
	r.Close()
	e.put("b", "2")
	ts := e.logged(storage.Synced, "s", "kept")
	e.check(e.s.DeleteRange(e.ctx, storage.Range{Start: []byte("b"), End: []byte("b")}))
	r = e.snapshot(0)
	e.equal(e.scan(r, "", "", false), "a=1 b=2 d=1")
	r.Close()
	e.check(e.s.DeleteRange(e.ctx, storage.Range{}))
	r = e.snapshot(0)
	e.equal(e.scan(r, "", "", false), "")
	r.Close()
	e.equal(e.log("s", 0), fmt.Sprintf("%d:kept", ts))
}

func approximateBytes(e env) {
	for i := range 100 {
		e.put(fmt.Sprintf("a%d", i), string(make([]byte, 1000)))
	}
	n, err := e.s.ApproximateBytes(e.ctx, storage.Range{Start: []byte("a"), End: []byte("b")})
	e.check(err)
	if n < 90_000 || n > 500_000 {
		e.t.Fatalf("%d bytes", n)
	}
	n, err = e.s.ApproximateBytes(e.ctx, storage.Range{Start: []byte("b")})
	e.check(err)
	e.equal(n, uint64(0))
}

func cancelled(e env) {
	t := e.begin(storage.TxnOptions{})
	e.sets(t, "a", "1")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, err := t.Get(ctx, []byte("a"), nil)
	e.is(err, context.Canceled)
	_, err = t.Iter(ctx, storage.Range{}, storage.IterOptions{})
	e.is(err, context.Canceled)
	_, err = t.Commit(ctx, storage.Synced)
	e.is(err, context.Canceled)
	_, err = e.s.Begin(ctx, storage.TxnOptions{})
	e.is(err, context.Canceled)
	r := e.snapshot(0)
	defer r.Close()
	e.want(r, "a", "")
}

func closedStore(e env) {
	ts := e.put("a", "1")
	waited := make(chan error, 1)
	go func() { waited <- e.s.WaitLog(context.WithoutCancel(e.ctx), ts) }()
	time.Sleep(time.Millisecond)
	s := e.s
	e.check(s.Close())
	_, err := s.Begin(e.ctx, storage.TxnOptions{})
	e.is(err, storage.ErrClosed)
	_, err = s.Snapshot(e.ctx, 0)
	e.is(err, storage.ErrClosed)
	_, err = s.ReadLog(e.ctx, []byte("s"), 0, func(storage.Timestamp, []byte) bool { return true })
	e.is(err, storage.ErrClosed)
	e.is(<-waited, storage.ErrClosed)
	e.is(s.DeleteRange(e.ctx, storage.Range{}), storage.ErrClosed)
	e.is(s.Sync(e.ctx), storage.ErrClosed)
	e.is(s.Close(), storage.ErrClosed)
}
