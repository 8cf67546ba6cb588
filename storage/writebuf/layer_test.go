package writebuf

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// reading is a snapshot of the buffer, its expected content, and an iterator of it that stays open while the
// buffer changes.
type reading struct {
	layer Layer
	want  map[string]string
	it    storage.Iterator
	ref   *sliceIter
	ended bool
}

// TestSnapshotsStay writes and rolls back while iterators of snapshots are open, and checks that these snapshots
// do not change.
func TestSnapshotsStay(t *testing.T) {
	var b Buffer
	for seed := range uint64(45) {
		rng := rand.New(rand.NewPCG(seed, 2))
		keys := []int{5, 60, 600}[seed%3] // the last one fills several blocks
		key := func() []byte { return fmt.Appendf(nil, "k%d", rng.IntN(keys)) }
		base := map[string]string{}
		for range keys / 3 {
			base[string(key())] = "base"
		}
		now := maps.Clone(base)
		var open []*reading
		step := func(r *reading) {
			if r.ended {
				return
			}
			var got, want bool
			if k := key(); rng.IntN(8) == 0 {
				got, want = r.it.Seek(k), r.ref.Seek(k)
			} else {
				got, want = r.it.Next(), r.ref.Next()
			}
			if got != want || got && (!bytes.Equal(r.it.Key(), r.ref.Key()) || !bytes.Equal(r.it.Value(), r.ref.Value())) {
				t.Fatalf("seed %d: %v at %q, want %v", seed, got, r.it.Key(), want)
			}
			r.ended = !got
		}
		for range 4 * keys {
			switch rng.IntN(8) {
			case 0:
				rg := storage.Range{Start: key(), End: key()}
				if rng.IntN(2) == 0 {
					rg = storage.Range{}
				}
				rev := rng.IntN(2) == 0
				r := &reading{layer: b.Snapshot(), want: maps.Clone(now)}
				r.it, r.ref = r.layer.Over(newSliceIter(base, rg, rev), rg, rev), newSliceIter(r.want, rg, rev)
				if open = append(open, r); len(open) > 12 {
					open[0].it.Close()
					open = open[1:]
				}
			case 1: // a statement that fails
				sp := b.Savepoint()
				for range rng.IntN(6) {
					b.Set(key(), []byte("undone"))
					b.Delete(key())
				}
				b.RollbackTo(sp)
			case 2:
				k := key()
				b.Delete(k)
				delete(now, string(k))
			default:
				k, v := key(), fmt.Sprint(rng.IntN(1e6))
				b.Set(k, []byte(v))
				now[string(k)] = v
			}
			for _, r := range open {
				if rng.IntN(3) == 0 {
					step(r)
				}
				k := string(key())
				got, state := r.layer.Get([]byte(k))
				if state == Untouched {
					got = []byte(base[k])
				}
				if string(got) != r.want[k] {
					t.Fatalf("seed %d: %q is %q, want %q", seed, k, got, r.want[k])
				}
			}
		}
		for _, r := range open {
			for !r.ended {
				step(r)
			}
			r.it.Close()
		}
		b.Reset()
	}
}

// TestMemoryCountsOverwrittenValues checks that MemoryBytes includes the values that were overwritten.
func TestMemoryCountsOverwrittenValues(t *testing.T) {
	var b Buffer
	for range 100 {
		b.Snapshot()
		b.Set([]byte("k"), make([]byte, 1000))
	}
	if b.Bytes() != 1001 || b.MemoryBytes() < 100_000 {
		t.Fatalf("Bytes %d, Held %d", b.Bytes(), b.MemoryBytes())
	}
	b.Reset()
	if b.MemoryBytes() != 0 {
		t.Fatal("held after Reset")
	}
}
