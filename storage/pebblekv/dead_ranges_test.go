package pebblekv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/storage"
)

func queueKey(n int) []byte { return binary.BigEndian.AppendUint32([]byte("q"), uint32(n)) }

// queueRange is the range of all keys of a queue.
var queueRange = storage.Range{Start: []byte("q"), End: []byte("r")}

// write commits sets and deletions.
func write(tb testing.TB, s storage.Store, sets, deletes []int) {
	tb.Helper()
	txn, err := s.Begin(tb.Context(), storage.TxnOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	defer txn.Close()
	for _, n := range sets {
		err = errors.Join(err, txn.Set(queueKey(n), []byte{1}))
	}
	for _, n := range deletes {
		err = errors.Join(err, txn.Delete(queueKey(n)))
	}
	_, commitErr := txn.Commit(tb.Context(), storage.Buffered)
	if err = errors.Join(err, commitErr); err != nil {
		tb.Fatal(err)
	}
}

// upTo returns the numbers from from up to below to.
func upTo(from, to int) (list []int) {
	for n := from; n < to; n++ {
		list = append(list, n)
	}
	return list
}

// front returns the first key of the queue, at its end with reverse, and the number of entries over which the scan has
// stepped.
func front(tb testing.TB, s storage.Store, reverse bool) (key []byte, steps int) {
	tb.Helper()
	r, err := s.Snapshot(tb.Context(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	i, err := r.(*reader).walk(queueRange, reverse)
	if err != nil {
		tb.Fatal(err)
	}
	defer i.Close()
	if i.Next() {
		key = bytes.Clone(i.Key())
	}
	if i.Err() != nil {
		tb.Fatal(i.Err())
	}
	return key, i.steps()
}

// TestQueueFront checks that a take from a queue, at either end, steps over few tombstones, however many entries were
// taken before, while entries are added at the other end or between the taken ones.
func TestQueueFront(t *testing.T) {
	const n = 3000
	for _, reverse := range []bool{false, true} {
		t.Run(fmt.Sprintf("reverse=%v", reverse), func(t *testing.T) {
			at := func(i int) int { // the i-th entry to be taken
				if reverse {
					return 1_000_000 - i
				}
				return i
			}
			s := openMemory(t)
			defer s.Close()
			for i := range n {
				write(t, s, []int{at(2*i + 10)}, nil)
			}
			steps := 0
			for i := range n {
				key, n := front(t, s, reverse)
				if want := queueKey(at(2*i + 10)); !bytes.Equal(key, want) {
					t.Fatalf("take %d: %x, want %x", i, key, want)
				}
				steps += n
				write(t, s, nil, []int{at(2*i + 10)})
				if i%200 == 100 { // an entry far before the front
					write(t, s, []int{at(i + 1)}, nil)
					key, n := front(t, s, reverse)
					if want := queueKey(at(i + 1)); !bytes.Equal(key, want) {
						t.Fatalf("entry %d before the front: %x, want %x", i, key, want)
					}
					steps += n
					write(t, s, nil, []int{at(i + 1)})
				}
			}
			if key, _ := front(t, s, reverse); key != nil {
				t.Fatalf("%x in an empty queue", key)
			}
			for i := range 100 { // an entry at a time, between polls of the empty queue
				key, n := front(t, s, reverse)
				if key != nil {
					t.Fatalf("%x in an empty queue", key)
				}
				write(t, s, []int{at(2*n + 10 + i)}, nil)
				if key, n = front(t, s, reverse); key == nil {
					t.Fatal("an entry is missing")
				}
				write(t, s, nil, []int{int(binary.BigEndian.Uint32(key[1:]))})
				steps += n
			}
			if per := steps / (n + 100); per > 2*hiddenMax {
				t.Errorf("%d entries stepped over in a take", per)
			}
			if list := *s.(*store).dead.list.Load(); len(list) > 8 {
				t.Errorf("%d dead ranges", len(list))
			}
		})
	}
}

// model is a state of the queue, the numbers of its entries, beside a reader of it.
type model struct {
	r    storage.Reader
	live map[int]bool
}

// scan compares a scan of a random range, with seeks, with the model.
func (m *model) scan(t *testing.T, rng *rand.Rand, keys int) {
	t.Helper()
	lo, hi := rng.IntN(keys), rng.IntN(keys)
	if rng.IntN(3) == 0 {
		lo = 0
	}
	if rng.IntN(3) == 0 {
		hi = keys
	}
	if lo > hi {
		lo, hi = hi, lo
	}
	reverse := rng.IntN(2) == 0
	want := slices.Sorted(maps.Keys(m.live))
	want = slices.DeleteFunc(want, func(n int) bool { return n < lo || n >= hi })
	if reverse {
		slices.Reverse(want)
	}
	it, err := m.r.Iter(t.Context(), storage.Range{Start: queueKey(lo), End: queueKey(hi)}, storage.IterOptions{Reverse: reverse})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for step := 0; ; step++ {
		ok := false
		if rng.IntN(6) == 0 {
			to := rng.IntN(keys)
			if step > 0 { // not behind the current entry, which stays
				want = want[min(1, len(want)):]
			}
			before := func(n int) bool { return n < to && !reverse || n > to && reverse }
			if step > 0 {
				cur := int(binary.BigEndian.Uint32(it.Key()[1:]))
				if !before(cur) {
					want = slices.Insert(want, 0, cur)
				}
			}
			for len(want) > 0 && before(want[0]) {
				want = want[1:]
			}
			ok = it.Seek(queueKey(to))
		} else {
			if step > 0 {
				want = want[1:]
			}
			ok = it.Next()
		}
		if ok != (len(want) > 0) || ok && !bytes.Equal(it.Key(), queueKey(want[0])) {
			t.Fatalf("reverse %v, [%d, %d), step %d: %v, want %v", reverse, lo, hi, step, ok, want[:min(1, len(want))])
		}
		if !ok {
			if it.Err() != nil {
				t.Fatal(it.Err())
			}
			return
		}
	}
}

// TestDeadRangesModel sets and deletes keys, more deletions than sets, and after each step compares scans and seeks in
// random ranges, at the newest state and at older snapshots, with a model.
func TestDeadRangesModel(t *testing.T) {
	const keys = 1500
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := mustOpen(t, "db", Options{InMemory: true, MemtableBytes: 256 << 10})
		live := map[int]bool{}
		var held []*model
		for round := range 200 {
			switch from := rng.IntN(keys); rng.IntN(8) {
			case 0: // many sets
				to := min(keys, from+rng.IntN(500))
				write(t, s, upTo(from, to), nil)
				for n := from; n < to; n++ {
					live[n] = true
				}
			case 1, 2: // many deletions
				to := min(keys, from+rng.IntN(700))
				write(t, s, nil, upTo(from, to))
				for n := from; n < to; n++ {
					delete(live, n)
				}
			default:
				n := rng.IntN(keys)
				write(t, s, []int{from}, []int{n})
				live[from] = true
				delete(live, n)
				if n == from {
					delete(live, n)
				}
			}
			r, err := s.Snapshot(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			m := &model{r, maps.Clone(live)}
			for range 3 {
				m.scan(t, rng, keys)
			}
			if len(held) > 0 {
				held[rng.IntN(len(held))].scan(t, rng, keys)
			}
			if held = append(held, m); len(held) > 4 || round%50 == 49 {
				k := rng.IntN(len(held))
				held[k].r.Close()
				held = slices.Delete(held, k, k+1)
			}
		}
		if s.(*store).dead.uses.Load() == 0 {
			t.Error("no dead range was found")
		}
		for _, m := range held {
			m.r.Close()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeadRangesConcurrent lets takers take the first entry of a queue while others insert at its end and below its
// front. Each scan has to find the entry that Pebble finds at the same snapshot, and each entry is taken once.
func TestDeadRangesConcurrent(t *testing.T) {
	s := openMemory(t)
	defer s.Close()
	const inserters, takers = 3, 3
	each := 250 // the comparison with Pebble reads all tombstones of the queue: the work is quadratic
	if testenv.IsLong() {
		each = 1500
	}
	var next, taken atomic.Int64
	next.Store(1 << 20)
	seen := make([]atomic.Int32, 2<<20)
	var wg sync.WaitGroup
	for w := range inserters {
		rng := rand.New(rand.NewPCG(uint64(w), 2))
		wg.Go(func() {
			for range each {
				n := int(next.Add(1))
				if rng.IntN(4) == 0 {
					n -= rng.IntN(1 << 19)
				}
				for seen[n].Load() != 0 || !seen[n].CompareAndSwap(0, 1) {
					n = int(next.Add(1))
				}
				write(t, s, []int{n}, nil)
			}
		})
	}
	for range takers {
		wg.Go(func() {
			for taken.Load() < int64(inserters*each) && !t.Failed() {
				if n, ok := takeFirst(t, s); ok {
					if seen[n].Add(1) != 2 {
						t.Errorf("%d was taken twice", n)
					}
					taken.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if key, _ := front(t, s, false); key != nil {
		t.Errorf("%x was not taken", key)
	}
}

// takeFirst deletes the first entry of the queue, compares it with the one that Pebble finds, and returns its number;
// false if the queue is empty or the commit conflicts.
func takeFirst(t *testing.T, s storage.Store) (int, bool) {
	begun, err := s.Begin(t.Context(), storage.TxnOptions{})
	if err != nil {
		t.Error(err)
		return 0, false
	}
	defer begun.Close()
	it, err := begun.Iter(t.Context(), queueRange, storage.IterOptions{})
	if err != nil {
		t.Error(err)
		return 0, false
	}
	var key []byte
	if it.Next() {
		key = bytes.Clone(it.Key())
	}
	it.Close()
	raw, err := s.(*store).pebble(begun.(*txn).snap).NewIter(&pebble.IterOptions{LowerBound: queueRange.Start, UpperBound: queueRange.End})
	if err != nil {
		t.Error(err)
		return 0, false
	}
	var want []byte
	if raw.First() {
		want = bytes.Clone(raw.Key())
	}
	_ = raw.Close()
	if !bytes.Equal(key, want) {
		t.Errorf("the scan found %x, Pebble %x", key, want)
	}
	if key == nil || begun.Delete(key) != nil {
		return 0, false
	}
	if _, err := begun.Commit(t.Context(), storage.Buffered); err != nil {
		if !errors.Is(err, storage.ErrConflict) {
			t.Error(err)
		}
		return 0, false
	}
	return int(binary.BigEndian.Uint32(key[1:])), true
}

// TestKeysBesideDeadRange checks that scans in both directions skip a dead range that lies behind a key.
func TestKeysBesideDeadRange(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		s := openMemory(t)
		write(t, s, upTo(0, 1001), nil)
		write(t, s, nil, upTo(1, 1000))
		steps := 0
		for range 2 { // the first scan finds the range
			r, err := s.Snapshot(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			i, err := r.(*reader).walk(queueRange, reverse)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{0, 1000} {
				if reverse {
					n = 1000 - n
				}
				if !i.Next() || !bytes.Equal(i.Key(), queueKey(n)) {
					t.Fatalf("reverse %v: %d is missing", reverse, n)
				}
			}
			if i.Next() || i.Err() != nil {
				t.Fatalf("reverse %v: %x, %v", reverse, i.Key(), i.Err())
			}
			steps = i.steps()
			i.Close()
			r.Close()
		}
		if steps > hiddenMax {
			t.Errorf("reverse %v: %d entries stepped over", reverse, steps)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
