package writebuf

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// sliceIter is a snapshot of plain sorted pairs.
type sliceIter struct {
	keys    []string
	vals    map[string]string
	at      int
	reverse bool
}

func newSliceIter(m map[string]string, r storage.Range, reverse bool) *sliceIter {
	s := &sliceIter{vals: m, at: -1, reverse: reverse}
	for k := range m {
		if r.Contains([]byte(k)) {
			s.keys = append(s.keys, k)
		}
	}
	slices.Sort(s.keys)
	if reverse {
		slices.Reverse(s.keys)
	}
	return s
}

func (s *sliceIter) Next() bool { s.at++; return s.at < len(s.keys) }
func (s *sliceIter) Seek(key []byte) bool {
	s.at = max(s.at, 0)
	for s.at < len(s.keys) && (!s.reverse && s.keys[s.at] < string(key) || s.reverse && s.keys[s.at] > string(key)) {
		s.at++
	}
	return s.at < len(s.keys)
}
func (s *sliceIter) Key() []byte   { return []byte(s.keys[s.at]) }
func (s *sliceIter) Value() []byte { return []byte(s.vals[s.keys[s.at]]) }
func (s *sliceIter) Err() error    { return nil }
func (s *sliceIter) Close()        {}

// TestAgainstMap does the same random operations on a Buffer over a snapshot and on a plain map, and compares
// them.
func TestAgainstMap(t *testing.T) {
	var b Buffer
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		keys := []int{5, 50, 2000}[seed%3]
		key := func() []byte { return fmt.Appendf(nil, "k%d", rng.IntN(keys)) }
		base := map[string]string{}
		for range keys / 2 {
			base[string(key())] = "base"
		}
		want := maps.Clone(base)
		type saved struct {
			sp         storage.Savepoint
			want       map[string]string
			logs, size int
		}
		var saves []saved
		for range 3 * keys {
			switch rng.IntN(12) {
			case 0, 1, 2:
				k := key()
				b.Delete(k)
				delete(want, string(k))
			case 3:
				if keys <= 50 {
					saves = append(saves, saved{b.Savepoint(), maps.Clone(want), len(b.Logs()), b.Bytes()})
				}
			case 4:
				if n := len(saves); n > 0 {
					i := rng.IntN(n)
					s := saves[i]
					saves = saves[:i+1]
					b.RollbackTo(s.sp)
					want = maps.Clone(s.want)
					if len(b.Logs()) != s.logs || b.Bytes() != s.size {
						t.Fatalf("seed %d: %d logs, %d bytes after rollback, want %d, %d", seed, len(b.Logs()), b.Bytes(), s.logs, s.size)
					}
				}
			case 5:
				b.AppendLog([]byte("s"), []byte("r"))
				b.Lock(key())
			default:
				k, v := key(), fmt.Sprint(rng.IntN(1e6))
				b.Set(k, []byte(v))
				want[string(k)] = v
			}
		}
		check(t, seed, rng, &b, base, want, key)
		b.Reset()
		if !b.Empty() || b.Bytes() != 0 || b.Len() != 0 {
			t.Fatal("not empty after Reset")
		}
	}
}

func check(t *testing.T, seed uint64, rng *rand.Rand, b *Buffer, base, want map[string]string, key func() []byte) {
	t.Helper()
	var last []byte
	n := 0
	for k, v := range b.All() {
		if bytes.Compare(last, k) >= 0 {
			t.Fatalf("seed %d: %q after %q", seed, k, last)
		}
		last, n = k, n+1
		if w, ok := want[string(k)]; ok != (v != nil) || w != string(v) {
			t.Fatalf("seed %d: %q = %q, want %q", seed, k, v, w)
		}
	}
	if n != b.Len() {
		t.Fatalf("seed %d: Len %d, got %d", seed, b.Len(), n)
	}
	for range 40 {
		r := storage.Range{Start: key(), End: key()}
		if rng.IntN(3) == 0 {
			r.Start = nil
		}
		if rng.IntN(3) == 0 {
			r.End = nil
		}
		rev := rng.IntN(2) == 0
		ref := newSliceIter(want, r, rev)
		it := b.Newest().Over(newSliceIter(base, r, rev), r, rev)
		for {
			var got, exp bool
			if rng.IntN(4) == 0 {
				k := key()
				got, exp = it.Seek(k), ref.Seek(k)
			} else {
				got, exp = it.Next(), ref.Next()
			}
			if got != exp {
				t.Fatalf("seed %d: step %v, want %v", seed, got, exp)
			}
			if !got {
				break
			}
			if !bytes.Equal(it.Key(), ref.Key()) || !bytes.Equal(it.Value(), ref.Value()) {
				t.Fatalf("seed %d: at %q=%q, want %q=%q", seed, it.Key(), it.Value(), ref.Key(), ref.Value())
			}
		}
		it.Close()
	}
}

func TestAscendingLoadIsCompact(t *testing.T) {
	var b Buffer
	for i := range 10000 {
		b.Set(fmt.Appendf(nil, "%06d", i), []byte("v"))
	}
	if n := len(b.writes.blocks); n > 10000/blockMax+2 {
		t.Fatalf("%d blocks", n)
	}
}

func TestAllocsSmallTxn(t *testing.T) {
	var b Buffer
	keys := [][]byte{[]byte("r1"), []byte("i2"), []byte("i3"), []byte("a")}
	v := make([]byte, 512)
	if n := testing.AllocsPerRun(100, func() {
		for _, k := range keys {
			b.Set(k, v)
		}
		b.AppendLog(keys[0], v)
		b.Get(keys[2])
		b.Reset()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{4, 1000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var buf Buffer
			rng := rand.New(rand.NewPCG(1, 1))
			key, v := make([]byte, 20), make([]byte, 100)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%n == 0 {
					buf.Reset()
				}
				key[0], key[1], key[2], key[3] = 'r', byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())
				buf.Set(key, v)
			}
		})
	}
}
