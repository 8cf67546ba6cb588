package pebblekv

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// TestHotAgrees reads few keys in new and old states while other goroutines write and delete them. Get, which uses
// the hot cache, must return the same as an iterator, which does not.
func TestHotAgrees(t *testing.T) {
	s := openMemory(t)
	defer s.Close()
	const keys, rounds = 12, 3000
	key := func(i int) []byte { return fmt.Appendf(nil, "key%02d", i) }
	var group sync.WaitGroup
	for seed := range uint64(3) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			for n := range rounds {
				if rng.IntN(200) == 0 {
					if err := s.DeleteRange(bg, storage.Range{Start: key(0), End: key(keys / 2)}); err != nil {
						t.Error(err)
					}
					continue
				}
				txn, err := s.Begin(bg, storage.TxnOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				for range 1 + rng.IntN(3) {
					if k := key(rng.IntN(keys)); rng.IntN(4) == 0 {
						err = txn.Delete(k)
					} else {
						err = txn.Set(k, fmt.Appendf(nil, "%d of %d", n, seed))
					}
					if err != nil {
						t.Error(err)
					}
				}
				if _, err := txn.Commit(bg, storage.Buffered); err != nil && !errors.Is(err, storage.ErrConflict) {
					t.Error(err)
				}
				txn.Close()
			}
		})
	}
	var found atomic.Int64
	for seed := range uint64(3) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 2))
			for range rounds / 10 {
				r, err := s.Snapshot(bg, 0)
				if err != nil {
					t.Error(err)
					return
				}
				for range 3 * keys {
					k := key(rng.IntN(keys))
					got, err := r.Get(bg, k, nil)
					if err != nil && !errors.Is(err, storage.ErrNotFound) {
						t.Error(err)
					}
					if want := scanned(t, r, k); !bytes.Equal(got, want) {
						t.Errorf("at %d: %s is %q, an iterator says %q", r.ReadTimestamp(), k, got, want)
					}
				}
				r.Close()
				for i := range s.(*store).hot.sets {
					for j := range hotWays {
						if s.(*store).hot.sets[i].values[j].Load() != nil {
							found.Add(1)
						}
					}
				}
			}
		})
	}
	group.Wait()
	if found.Load() == 0 {
		t.Error("no value was hot, so nothing was tested")
	}
}

// scanned returns the value of a key as an iterator finds it, nil if there is none: the oracle for the hot cache.
func scanned(t *testing.T, r storage.Reader, key []byte) []byte {
	it, err := r.Iter(bg, storage.Range{Start: key, End: append(bytes.Clone(key), 0)}, storage.IterOptions{})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer it.Close()
	if !it.Next() {
		return nil
	}
	return bytes.Clone(it.Value())
}

// TestHotStates checks cases in which a lookup must find a value in the hot cache, and others in which it must not.
func TestHotStates(t *testing.T) {
	h := newHotCache(1 << 20)
	key, print := []byte("k"), uint64(0xabcd<<48|1)
	find := func(at storage.Timestamp) string {
		v, ok := h.get(key, print, at, nil)
		if !ok {
			return "-"
		}
		return string(v)
	}
	expect := func(at storage.Timestamp, want string) {
		t.Helper()
		if got := find(at); got != want {
			t.Errorf("at %d: found %q, want %q", at, got, want)
		}
	}
	h.offer(key, []byte("a"), print, 10)
	expect(10, "-") // looked up only once
	h.offer(key, []byte("a"), print, 10)
	expect(9, "-") // the value at 9 is unknown
	expect(10, "a")
	expect(20, "a")
	h.overwrite(print, 21, h.replacement(key, []byte("x"), print))
	expect(20, "-") // the previous state
	expect(21, "x")
	h.overwrite(print, 21, h.replacement(key, nil, print)) // deleted
	expect(21, "-")
	if h.replacement(key, []byte("x"), print) != nil {
		t.Error("what is not there is to be renewed")
	}
	h.offer(key, []byte("a"), print, 20) // read before the write, offered after it
	expect(30, "-")
	h.offer(key, []byte("b"), print, 21)
	expect(21, "b")
	h.invalidate(30)
	expect(30, "-")
	h.offer(key, []byte("b"), print, 29)
	expect(30, "-")
	h.offer(key, []byte("c"), print, 30)
	expect(30, "c")
	if v, ok := h.get([]byte("other"), print, 30, nil); ok {
		t.Errorf("another key with the same fingerprint found %q", v)
	}
}

// TestHotBytes offers more values than the hot cache has space for: the cache stays within its size, and a value that
// is read all the time is still there.
func TestHotBytes(t *testing.T) {
	const room = 1 << 20
	h, seed := newHotCache(room), maphash.MakeSeed()
	value := make([]byte, 1000)
	popular := []byte("popular")
	print := maphash.Bytes(seed, popular)
	for range 2 {
		h.offer(popular, value, print, 1)
	}
	for i := range 10_000 {
		key := fmt.Appendf(nil, "%d", i)
		for range 2 {
			h.offer(key, value, maphash.Bytes(seed, key), 1)
		}
		if n := h.bytes.Load(); n > room {
			t.Fatalf("%d bytes are held, there is room for %d", n, room)
		}
		if _, ok := h.get(popular, print, 1, nil); !ok {
			t.Fatalf("gone after %d others, though it is read all the time", i)
		}
	}
	sum := int64(0)
	for i := range h.sets {
		for j := range hotWays {
			if v := h.sets[i].values[j].Load(); v != nil {
				sum += v.size()
			}
		}
	}
	if n := h.bytes.Load(); n != sum || n < room/2 {
		t.Errorf("%d bytes are counted, %d are there", n, sum)
	}
	for i := range 10_000 {
		key := fmt.Appendf(nil, "%d", i)
		print := maphash.Bytes(seed, key)
		h.overwrite(print, 2, h.replacement(key, make([]byte, 2*len(value)), print))
		if n := h.bytes.Load(); n > room {
			t.Fatalf("%d bytes are held after values have grown, there is room for %d", n, room)
		}
	}
	h.offer(popular, make([]byte, hotValueMax+1), print, 2)
	if v, _ := h.get(popular, print, 2, nil); len(v) != len(value) {
		t.Errorf("a value of %d bytes was taken in", len(v))
	}
}
