package keyspace

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// skip1 is the Skipper of this test: in place of a keystring, a value is one byte with its length plus 5, and its
// bytes.
func skip1(b []byte) int { return int(b[0]-5) + 1 }

func val(s string) []byte { return append([]byte{byte(5 + len(s))}, s...) }

func cat(bs ...[]byte) []byte { return bytes.Join(bs, nil) }

func TestRoundTrip(t *testing.T) {
	for _, h := range []Hash{HashMin, 1, 0xFF00FF00FF00FF00, HashMax} {
		id := val("id\xff")
		c, h2, id2, ok := SplitRecord(AppendRecord([]byte{}, 1<<40, h, id))
		if !ok || c != 1<<40 || h2 != h || !bytes.Equal(id, id2) {
			t.Fatalf("record: %v %v %x %v", c, h2, id2, ok)
		}
		values := cat(val("a"), val("\xff\xff"))
		key := AppendEntry(nil, 7, 8, 9, values, h, id)
		v2, h2, id2, ok := SplitEntry(key, 2, skip1)
		if !ok || !bytes.Equal(v2, values) || h2 != h || !bytes.Equal(id, id2) {
			t.Fatalf("entry: %x %v %x %v", v2, h2, id2, ok)
		}
		if h2, id2, ok = SplitEntryAt(key, len(values)); !ok || h2 != h || !bytes.Equal(id, id2) {
			t.Fatalf("entry at: %v %x %v", h2, id2, ok)
		}
		for _, bits := range [][]byte{nil, {1, 2}} {
			h2, id2, b2, ok := SplitUniqueValue(AppendUniqueValue(nil, h, id, bits), 1, skip1)
			if !ok || h2 != h || !bytes.Equal(id, id2) || !bytes.Equal(bits, b2) {
				t.Fatalf("unique value: %v %x %x %v", h2, id2, b2, ok)
			}
			if !bytes.Equal(EntryTypeBits(AppendEntryValue(nil, bits)), bits) {
				t.Fatal("type bits")
			}
		}
		if c, ix, p, ok := EntryOwner(key); !ok || c != 7 || ix != 8 || p != 9 {
			t.Fatal("owner")
		}
	}
}

func TestSplitDamaged(t *testing.T) {
	keys := [][]byte{
		AppendRecord(nil, 1, 2, val("x")), AppendEntry(nil, 1, 2, 3, val("abc"), 4, val("x")),
		AppendUnique(nil, 1, 2, 3, val("abc")), AppendUniqueValue(nil, 1, val("abc"), nil), AppendMeta(nil, MetaUser, []byte("u")),
	}
	for _, k := range keys {
		for n := range len(k) {
			SplitRecord(k[:n])
			SplitMeta(k[:n])
			SplitEntry(k[:n], 1, skip1)
			SplitEntry(k[:n], 1, func([]byte) int { return -1 })
			SplitEntry(k[:n], 3, func([]byte) int { return 1 << 30 })
			SplitEntryAt(k[:n], 4)
			SplitUnique(k[:n])
			SplitUniqueValue(k[:n], 1, skip1)
			SplitUniqueValue(k[:n], 3, skip1)
			EntryOwner(k[:n])
			_ = Pretty(k[:n])
		}
	}
}

// TestRanges compares every range of keys with a plain condition on the fields of a key, for values at the ends of
// the fields.
func TestRanges(t *testing.T) {
	cs := []CollectionID{0, 1, 255, 256, 1<<64 - 1}
	hs := []Hash{0, 1, 254, 255, 1 << 63, HashMax - 1, HashMax}
	vs := [][]byte{val("a"), val("a\xff"), val("b"), {5}, {0xF0}}
	ids := [][]byte{{5}, val("\xff"), {0xF0}}
	type rec struct {
		c CollectionID
		h Hash
	}
	for _, c := range cs {
		for _, lo := range hs {
			for _, hi := range hs {
				r, all := RecordHashRange(c, lo, hi), RecordRange(c)
				for _, k := range cs {
					for _, h := range hs {
						for _, id := range ids {
							key := AppendRecord(nil, k, h, id)
							span := RecordSpan(c, lo.Append(nil), append(hi.Append(nil), ids[1]...))
							if want := k == c && lo <= h && (h < hi || h == hi && bytes.Compare(id, ids[1]) < 0); (span.Contains(key) && !span.Empty()) != want {
								t.Fatalf("%v in span [%v,%v‖%x) of %v: want %v", rec{k, h}, lo, hi, ids[1], c, want)
							}
							if want := k == c && lo <= h && h <= hi; r.Contains(key) != want && !r.Empty() || r.Empty() && want {
								t.Fatalf("%v in [%v,%v] of %v: want %v", rec{k, h}, lo, hi, c, want)
							}
							if all.Contains(key) != (k == c) {
								t.Fatalf("%v in all of %v", rec{k, h}, c)
							}
						}
					}
				}
			}
		}
	}
	less := func(a, b []byte) bool { return bytes.Compare(a, b) < 0 }
	for _, ix := range []IndexID{0, 255, 1<<32 - 1} {
		for _, p := range []PartitionID{0, 255, 1<<32 - 1} {
			r := PartitionRange(9, ix, p)
			for _, ix2 := range []IndexID{0, 255, 256, 1<<32 - 1} {
				for _, p2 := range []PartitionID{0, 255, 256, 1<<32 - 1} {
					for _, v := range vs {
						key := AppendEntry(nil, 9, ix2, p2, v, HashMax, ids[1])
						if r.Contains(key) != (ix == ix2 && p == p2) {
							t.Fatal("partition range")
						}
						if IndexRange(9, ix).Contains(key) != (ix == ix2) || !CollectionIndexRange(9).Contains(key) || CollectionIndexRange(8).Contains(key) {
							t.Fatal("index range")
						}
					}
				}
			}
			for _, lo := range append(vs, nil) {
				for _, hi := range append(vs, nil) {
					for open := range 4 {
						b := Bounds{lo, hi, open&1 != 0, open&2 != 0}
						r := EntryRange(9, ix, p, b)
						for _, v := range vs {
							want := (lo == nil || less(lo, v) || bytes.Equal(lo, v) && !b.LoOpen) && (hi == nil || less(v, hi) || bytes.Equal(hi, v) && !b.HiOpen)
							for _, h := range hs {
								if key := AppendEntry(nil, 9, ix, p, v, h, ids[1]); (r.Contains(key) && !r.Empty()) != want {
									t.Fatalf("%x hash %v in %+v: want %v", v, h, b, want)
								}
							}
							if key := AppendUnique(nil, 9, ix, p, v); (r.Contains(key) && !r.Empty()) != want {
								t.Fatalf("unique %x in %+v: want %v", v, b, want)
							}
						}
					}
				}
			}
		}
	}
}

func TestPrefixEnd(t *testing.T) {
	if PrefixEnd([]byte{}) != nil || PrefixEnd([]byte{0xFF, 0xFF}) != nil {
		t.Fatal("unbounded")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		p := make([]byte, 1+rng.IntN(4))
		for i := range p {
			p[i] = byte(rng.IntN(3)) - 1
		}
		end := PrefixEnd(bytes.Clone(p))
		r := storage.Range{Start: p, End: end}
		k := slices.Concat(p, []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF})
		if !r.Contains(p) || !r.Contains(k) {
			t.Fatalf("%x not in %x..%x", k, p, end)
		}
		if end != nil && bytes.HasPrefix(end, p) {
			t.Fatalf("%x", end)
		}
	}
}

func TestOrderFollowsFields(t *testing.T) {
	keys := [][]byte{
		AppendEntry(nil, 1, 1, 1, val("a"), 0, val("z")), AppendEntry(nil, 1, 1, 1, val("a"), 1, val("a")),
		AppendEntry(nil, 1, 1, 1, val("b"), 0, val("a")), AppendEntry(nil, 1, 1, 256, val("a"), 0, val("a")),
		AppendEntry(nil, 1, 2, 0, val("a"), 0, val("a")), AppendEntry(nil, 2, 0, 0, val("a"), 0, val("a")),
		AppendMeta(nil, MetaCollection, []byte("x")), AppendMeta(nil, MetaUser, nil), AppendRecord(nil, 0, 0, val("a")), AppendRecord(nil, 0, 1, val("a")),
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Fatal("order")
	}
}

func TestPretty(t *testing.T) {
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{AppendMeta(nil, MetaUser, []byte("admin.bob")), `m/u/"admin.bob"`},
		{AppendMeta(nil, MetaCollection, []byte{0, 1}), `m/c/0001`},
		{AppendRecord(nil, 3, 255, []byte{0x12}), "r/3/00000000000000ff/12"},
		{AppendEntry(nil, 3, 4, 5, []byte{0x12}, 1, []byte{0x12}), "i/3/4/5/12000000000000000112"},
		{[]byte{0, 1}, "?/0001"},
	} {
		if got := Pretty(c.key); got != c.want {
			t.Errorf("%x: got %s, want %s", c.key, got, c.want)
		}
	}
}

func TestAllocsAppend(t *testing.T) {
	dst, id, values := make([]byte, 0, 128), val("id"), val("v")
	if n := testing.AllocsPerRun(100, func() {
		dst = AppendRecord(dst[:0], 1, 2, id)
		dst = AppendEntry(dst[:0], 1, 2, 3, values, 4, id)
		SplitEntry(dst, 1, skip1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
