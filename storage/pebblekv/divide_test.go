package pebblekv

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// TestDivide checks that the parts of a divided range join, and that none has more keys than its bound: of keys that come
// in order, at random and in clusters, in memtables and in tables, with deleted and overwritten keys, beside other keys, after
// the store was opened again, and in an older snapshot. A division of many keys has many parts.
func TestDivide(t *testing.T) {
	dir := t.TempDir()
	o := Options{ReserveBytes: -1, MemtableBytes: 256 << 10}
	s := mustOpen(t, dir, o).(*store)
	rng := rand.New(rand.NewPCG(3, 4))
	next := uint64(1 << 40)
	key := func(i int) []byte {
		switch n := rng.IntN(8); {
		case n < 5:
			next++
		case n == 5: // a cluster far above
			return binary.BigEndian.AppendUint64([]byte("r"), 1<<60+rng.Uint64N(4000))
		default:
			return binary.BigEndian.AppendUint64([]byte("r"), rng.Uint64())
		}
		return binary.BigEndian.AppendUint64([]byte("r"), next)
	}
	value := make([]byte, 400) // of random bytes, so that tables are not compressed to few
	for i := range value {
		value[i] = byte(rng.Uint32())
	}
	var old storage.Reader
	most := 0
	check := func() {
		t.Helper()
		all := storage.Range{Start: []byte("r"), End: []byte("s")}
		r, err := s.Snapshot(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		parts, err := s.Divide(t.Context(), all)
		if err != nil || len(parts) == 0 {
			t.Fatalf("%d parts, %v", len(parts), err)
		}
		most = max(most, len(parts))
		for _, reader := range []storage.Reader{r, old} {
			if reader == nil {
				continue
			}
			counted := 0
			for _, p := range parts {
				n := countKeys(t, reader, p.Range)
				if counted += n; uint64(n) > p.Keys {
					t.Errorf("a part of %d keys has the bound %d", n, p.Keys)
				}
			}
			if n := countKeys(t, reader, all); n != counted {
				t.Errorf("the parts have %d keys, the range %d", counted, n)
			}
		}
	}
	for i := range 60 {
		entries := 400
		if i%3 == 0 {
			entries = 90 // a batch of 400 takes more than half of a memtable
		}
		err := storage.Update(t.Context(), s, storage.TxnOptions{}, storage.Buffered, func(t storage.Txn) error {
			for j := range entries {
				k := key(j)
				binary.LittleEndian.PutUint64(value[8*rng.IntN(len(value)/8):], rng.Uint64())
				if err := t.Set(k, value); err != nil {
					return err
				}
				if err := t.Set(append([]byte("i"), k...), []byte{0}); err != nil {
					return err
				}
				if j%9 == 0 {
					if err := t.Delete(key(j)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case i%10 == 0:
			check()
		case i == 21:
			if old, err = s.Snapshot(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		case i == 42:
			old.Close()
			old = nil
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, dir, o).(*store)
			check()
		}
	}
	if most < 3 {
		t.Errorf("no division had more than %d parts", most)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = true
	s = mustOpen(t, dir, o).(*store)
	defer s.Close()
	if parts, err := s.Divide(t.Context(), storage.Range{}); parts != nil || err != nil {
		t.Errorf("a store that is only read, with memtables from the log, was divided: %v %v", parts, err)
	}
}

// countKeys returns the number of keys of a range.
func countKeys(t *testing.T, r storage.Reader, of storage.Range) (n int) {
	t.Helper()
	it, err := r.Iter(t.Context(), of, storage.IterOptions{KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for it.Next() {
		n++
	}
	if it.Err() != nil {
		t.Fatal(it.Err())
	}
	return n
}

// TestUnflushedBound checks the bound of a sampled number of keys: it is never too low in 40,000 samples.
func TestUnflushedBound(t *testing.T) {
	for _, keys := range []int{1, 40, 1000, 5000} {
		for range 10000 {
			sampled := 0
			for at := nextSample(); at < keys; at += 1 + nextSample() {
				sampled++
			}
			if unflushedBound(sampled) < uint64(keys) {
				t.Fatalf("%d of %d keys were sampled: the bound is %d", sampled, keys, unflushedBound(sampled))
			}
		}
	}
}
