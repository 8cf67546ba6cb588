package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage"
)

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

// iterMoves moves the iterators of engines that can to ranges in any order, and compares them with new ones.
func iterMoves(e env) {
	e.put("a", "1", "b", "2", "c", "3", "d", "4", "e", "5")
	r := e.snapshot(0)
	defer r.Close()
	for _, reverse := range []bool{false, true} {
		it, err := r.Iter(e.ctx, storage.Range{Start: []byte("x")}, storage.IterOptions{Reverse: reverse})
		e.check(err)
		again, ok := it.(storage.RangeSetter)
		for _, c := range [][2]string{{"a", "b"}, {"b", "d"}, {"b", "d"}, {"dd", "e"}, {"d", ""}, {"", "c"}, {"b", "b"}, {"d", "a"}, {"a", "x"}, {"c", "d"}} {
			if !ok {
				break
			}
			e.put("c", "changed")
			rg := storage.Range{Start: []byte(c[0])}
			if c[1] != "" {
				rg.End = []byte(c[1])
			}
			again.SetRange(rg)
			got := ""
			for n := 0; again.Next(); n++ {
				got += fmt.Sprintf(" %s=%s", again.Key(), again.Value())
				if n == 1 && c[1] == "x" {
					break // the next range is set in the middle of this one
				}
			}
			e.check(again.Err())
			if c[1] != "x" {
				e.equal(strings.TrimSpace(got), e.scan(r, c[0], c[1], reverse))
			}
		}
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

// iterResumed checks that an iterator whose context has ended continues with another context (SetContext), or
// without one if the engine's iterators never wait.
func iterResumed(e env) {
	const rows = 2000
	t := e.begin(storage.TxnOptions{})
	for i := range rows {
		e.check(t.Set(fmt.Appendf(nil, "k%04d", i), bytes.Repeat([]byte("v"), 100)))
	}
	e.commit(t)
	snap := e.snapshot(0)
	defer snap.Close()
	writes := e.begin(storage.TxnOptions{})
	defer writes.Close()
	e.check(writes.Set([]byte("k0000"), []byte("w")))
	for _, r := range []storage.Reader{snap, writes} {
		ctx, cancel := context.WithCancel(e.ctx)
		it, err := r.Iter(ctx, storage.Range{}, storage.IterOptions{})
		e.check(err)
		e.equal(it.Next(), true)
		cancel()
		if again, ok := it.(storage.ContextSetter); ok {
			again.SetContext(e.ctx)
		}
		n := 1
		for it.Next() {
			n++
		}
		e.check(it.Err())
		e.equal(n, rows)
		it.Close()
	}
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

func deleteRange(e env) {
	e.put("a", "1", "b", "1", "c", "1", "d", "1")
	e.deleteRange(storage.Range{Start: []byte("b"), End: []byte("d")})
	r := e.snapshot(0)
	e.equal(e.scan(r, "", "", false), "a=1 d=1")
	r.Close()
	e.put("b", "2")
	ts := e.logged(storage.Synced, "s", "kept")
	e.deleteRange(storage.Range{Start: []byte("b"), End: []byte("b")})
	r = e.snapshot(0)
	e.equal(e.scan(r, "", "", false), "a=1 b=2 d=1")
	r.Close()
	e.deleteRange(storage.Range{})
	r = e.snapshot(0)
	e.equal(e.scan(r, "", "", false), "")
	r.Close()
	e.equal(e.log("s", 0), fmt.Sprintf("%d:kept", ts))
}

// collector is an engine that destroys deleted ranges only when it collects garbage, such as one over TiKV.
type collector interface {
	Collect(ctx context.Context) error
}

// deleteRange deletes a range of keys, and makes sure that the engine has destroyed it.
func (e env) deleteRange(r storage.Range) {
	e.t.Helper()
	e.check(e.s.DeleteRange(e.ctx, r))
	if c, ok := e.s.(collector); ok {
		e.check(c.Collect(e.ctx))
	}
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
	_, err = s.ReadLog(e.ctx, []byte("s"), 0, func(_, _ storage.Timestamp, _ []byte) bool { return true })
	e.is(err, storage.ErrClosed)
	e.is(<-waited, storage.ErrClosed)
	e.is(s.DeleteRange(e.ctx, storage.Range{}), storage.ErrClosed)
	e.is(s.Sync(e.ctx), storage.ErrClosed)
	e.is(s.Close(), storage.ErrClosed)
}
