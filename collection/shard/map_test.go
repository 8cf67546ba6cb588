package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

func newMap(t testing.TB, kind Kind, n int) *Map {
	t.Helper()
	m, err := NewMap(kind, 7, n)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNewMap(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 16, 1000, ShardsMax} {
		m := newMap(t, Hashed, n)
		if err := m.Check(); err != nil {
			t.Fatal(n, err)
		}
		smallest, largest := uint64(math.MaxUint64), uint64(0)
		for i, d := range m.Shards() {
			lo, hi := d.Hashes()
			smallest, largest = min(smallest, uint64(hi-lo)), max(largest, uint64(hi-lo))
			if d.ID != ID(i) || d.Newest() != keyspace.PartitionID(i) {
				t.Fatalf("%+v", d)
			}
		}
		if largest-smallest > 1 {
			t.Errorf("%d shards differ by %d", n, largest-smallest)
		}
	}
	for _, bad := range []struct {
		kind Kind
		n    int
	}{{Hashed, 0}, {Hashed, -1}, {Hashed, ShardsMax + 1}, {Unsharded, 2}, {Ranged, 2}} {
		if _, err := NewMap(bad.kind, 1, bad.n); mongoerr.CodeOf(err) != mongoerr.BadValue {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestSplitMergeSettle(t *testing.T) {
	m0 := newMap(t, Hashed, 1)
	at, ok := m0.Shards()[0].Middle()
	if !ok || at != 1<<63 {
		t.Fatal(at, ok)
	}
	m1, err := m0.Split(0, HashPosition(at))
	if err != nil {
		t.Fatal(err)
	}
	if m0.Len() != 1 || m0.Shard(0) == nil {
		t.Error("the old map changed")
	}
	left, right := m1.Shard(1), m1.Shard(2)
	if m1.Shard(0) != nil || !slices.Equal(left.Partitions, []keyspace.PartitionID{0}) ||
		!slices.Equal(right.Partitions, []keyspace.PartitionID{0, 1}) || right.Settled() ||
		!slices.Equal(right.Parents, []ID{0}) || !m0.Version().Before(m1.Version()) || right.Since != 2 {
		t.Errorf("%+v %+v", left, right)
	}
	if m1.Find(at-1, nil) != left || m1.Find(at, nil) != right || m1.Find(0, nil) != left || m1.Find(keyspace.HashMax, nil) != right {
		t.Error("Find")
	}
	m2, err := m1.Settle(2)
	if err != nil || !slices.Equal(m2.Shard(2).Partitions, []keyspace.PartitionID{1}) || !m1.Shard(1).Settled() {
		t.Error(err)
	}
	if again, err := m2.Settle(2); again != m2 || err != nil {
		t.Error("settling twice changes the map")
	}
	if !slices.Equal(m2.Partitions(), []keyspace.PartitionID{0, 1}) || !slices.Equal(m2.Ints(), []int{1, 2}) {
		t.Error(m2.Partitions(), m2.Ints())
	}
	m3, err := m2.Merge(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := m3.Shard(3)
	if m3.Len() != 1 || !slices.Equal(d.Partitions, []keyspace.PartitionID{0, 1}) || !slices.Equal(d.Parents, []ID{1, 2}) ||
		d.Lo != nil || d.Hi != nil {
		t.Errorf("%+v", d)
	}
	for _, m := range []*Map{m0, m1, m2, m3} {
		if err := m.Check(); err != nil {
			t.Error(err)
		}
	}

	for name, err := range map[string]error{
		"unknown":       second(m1.Split(0, HashPosition(5))),
		"settle":        second(m1.Settle(9)),
		"merge":         second(m1.Merge(1, 9)),
		"at start":      second(m1.Split(2, HashPosition(at))),
		"outside":       second(m1.Split(1, HashPosition(at+1))),
		"line start":    second(m1.Split(1, HashPosition(0))),
		"no hash":       second(m1.Split(1, Position{1})),
		"empty":         second(m1.Split(1, nil)),
		"unsharded":     second(newMap(t, Unsharded, 1).Split(0, HashPosition(5))),
		"with self":     second(m1.Merge(1, 1)),
		"no neighbours": second(newMap(t, Hashed, 3).Merge(0, 2)),
	} {
		if c := mongoerr.CodeOf(err); c != mongoerr.CannotSplit && c != mongoerr.ShardNotFound && c != mongoerr.BadValue {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A shard that never settles cannot split without end.
	m := newMap(t, Hashed, 1)
	for err = nil; err == nil; {
		last := m.Shards()[m.Len()-1]
		at, _ := last.Middle()
		var next *Map
		if next, err = m.Split(last.ID, HashPosition(at)); err == nil {
			m = next
		}
	}
	if mongoerr.CodeOf(err) != mongoerr.CannotSplit || m.Len() != partitionsMax {
		t.Error(err, m.Len())
	}
}

func second(_ *Map, err error) error { return err }

func TestRangedMap(t *testing.T) {
	k := parsed(t, `{a: 1, b: 1}`)
	m := newMap(t, Ranged, 1)
	for _, v := range []string{`"m"`, `10`} {
		var err error
		if m, err = m.Split(m.FindRange(k.EqualRanges(bsontest.Value(t, v))[0])[0].ID, k.EqualRanges(bsontest.Value(t, v))[0].Lo); err != nil {
			t.Fatal(err)
		}
	}
	for d, want := range map[string]int{`{a: 5}`: 0, `{}`: 0, `{a: 10}`: 1, `{a: "a"}`: 1, `{a: "m", b: 3}`: 2, `{a: "z"}`: 2} {
		at, err := k.AppendPosition(nil, bsontest.Doc(t, d))
		if err != nil || m.FindPosition(at) != m.Shards()[want] {
			t.Errorf("%s: not shard number %d, %v", d, want, err)
		}
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	if got := m.FindRange(Range{k.EqualRanges(bsontest.Value(t, "3"))[0].Lo, k.EqualRanges(bsontest.Value(t, `"b"`))[0].Lo}); len(got) != 2 {
		t.Errorf("%d shards hold 3 to b", len(got))
	}
	if back, err := Decode(m.Encode()); err != nil || !reflect.DeepEqual(back, m) {
		t.Error(err)
	}
}

// TestFindAgrees requires that Find, FindPosition and FindRange of a map agree with a check of every shard's bounds.
func TestFindAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	k := parsed(t, `{a: "hashed", b: "hashed"}`)
	m := newMap(t, Hierarchical, 3)
	for range 200 {
		d := m.Shards()[r.IntN(m.Len())]
		lo, hi := d.Hashes()
		if next, err := m.Split(d.ID, HashPosition(lo+keyspace.Hash(r.Uint64N(uint64(hi-lo))+1))); err == nil {
			m = next
		}
		m, _ = m.Settle(m.Shards()[r.IntN(m.Len())].ID)
	}
	for range 2000 {
		rd := randomDoc(r)
		h, err := k.Hash(rd)
		if err != nil {
			t.Fatal(err)
		}
		p := HashPosition(h)
		var owners []*Descriptor
		for _, d := range m.Shards() {
			if d.Contains(p) {
				owners = append(owners, d)
			}
		}
		if len(owners) != 1 || m.Find(h, nil) != owners[0] || m.FindPosition(p) != owners[0] {
			t.Fatalf("%v has owners %v", h, owners)
		}
		q := k.EqualRanges(rd.Get("a"))[0]
		var want []*Descriptor
		for _, d := range m.Shards() {
			if d.Overlaps(q) {
				want = append(want, d)
			}
		}
		if got := m.FindRange(q); !slices.Equal(got, want) || !slices.Contains(got, owners[0]) {
			t.Fatalf("range %+v: %d shards, want %d", q, len(got), len(want))
		}
	}
	if got := m.FindRange(Range{}); len(got) != m.Len() {
		t.Error("the whole line")
	}
	if m.FindRange(Range{Position{5}, Position{5}}) != nil {
		t.Error("an empty range has shards")
	}
}

// TestPartitionsModel makes random splits, merges and settles of a map. Beside it is a model of index entries: a new
// one gets the newest partition of its shard, and before a shard is settled all of its entries get that. The shards'
// partitions, filtered by position, must always have every entry exactly once.
func TestPartitionsModel(t *testing.T) {
	type entry struct {
		partition keyspace.PartitionID
		at        keyspace.Hash
	}
	r := rand.New(rand.NewPCG(7, 8))
	m := newMap(t, Hashed, 2)
	var entries []entry
	for step := range 600 {
		d := m.Shards()[r.IntN(m.Len())]
		lo, hi := d.Hashes()
		switch r.IntN(6) {
		case 0:
			if next, err := m.Split(d.ID, HashPosition(lo+keyspace.Hash(r.Uint64N(uint64(hi-lo))+1))); err == nil {
				m = next
			}
		case 1:
			if next, err := m.Merge(d.ID, m.Shards()[r.IntN(m.Len())].ID); err == nil {
				m = next
			}
		case 2: // move the entries, then settle
			for i, e := range entries {
				if d.Contains(HashPosition(e.at)) {
					entries[i].partition = d.Newest()
				}
			}
			m, _ = m.Settle(d.ID)
		default:
			h := keyspace.Hash(r.Uint64())
			entries = append(entries, entry{m.Find(h, nil).Newest(), h})
		}
		if err := m.Check(); err != nil {
			t.Fatal(step, err)
		}
		found := 0
		for _, d := range m.Shards() {
			for _, e := range entries {
				if slices.Contains(d.Partitions, e.partition) && d.Contains(HashPosition(e.at)) {
					found++
				}
			}
		}
		if found != len(entries) {
			t.Fatalf("step %d: %d entries found of %d", step, found, len(entries))
		}
	}
}

func TestCheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(m *Map){
		"gap":            func(m *Map) { m.shards[1].Lo = HashPosition(m.shards[1].Lo.hash() + 1) },
		"begin":          func(m *Map) { m.shards[0].Lo = HashPosition(1) },
		"end":            func(m *Map) { m.shards[2].Hi = HashPosition(math.MaxUint64) },
		"order":          func(m *Map) { m.shards[1], m.shards[2] = m.shards[2], m.shards[1] },
		"same id":        func(m *Map) { m.shards[1].ID = 0 },
		"future id":      func(m *Map) { m.shards[1].ID = 99 },
		"no partition":   func(m *Map) { m.shards[1].Partitions = nil },
		"same partition": func(m *Map) { m.shards[1].Partitions = m.shards[0].Partitions },
		"future part":    func(m *Map) { m.shards[1].Partitions = []keyspace.PartitionID{99} },
		"twice":          func(m *Map) { m.shards[1].Partitions = []keyspace.PartitionID{1, 1} },
		"future change":  func(m *Map) { m.shards[1].Since = 99 },
		"short position": func(m *Map) { m.shards[0].Hi, m.shards[1].Lo = Position{0x50}, Position{0x50} },
		"parent":         func(m *Map) { m.shards[1].Parents = []ID{2} },
		"none":           func(m *Map) { m.shards = nil },
		"kind":           func(m *Map) { m.kind = Unsharded },
	} {
		m := newMap(t, Hashed, 3)
		damage(m)
		if m.Check() == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := newMap(t, Hashed, 2).Encode()
	if _, err := Decode(good); err != nil {
		t.Fatal(err)
	}
	for name := range map[string]bool{"format": true, "kind": true, "epoch": true, "minor": true, "nextID": true, "nextPartition": true, "shards": true} {
		for _, v := range []bson.Value{{}, bsontest.Value(t, `"x"`), bsontest.Value(t, "-1"), bsontest.Value(t, "[1]"), bsontest.Value(t, "[{}]")} {
			if name == "epoch" && v.IsNumber() {
				continue // any number is an epoch
			}
			b := bson.NewBuilder(nil)
			for n, old := range good.Fields() {
				if string(n) == name {
					b.Value(name, v)
				} else {
					b.ValueBytes(n, old)
				}
			}
			if _, err := Decode(b.Doc()); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s as %v: %v", name, v.Type, err)
			}
		}
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		rus, per int64
		want     int
	}{{0, 6000, 1}, {400, 6000, 1}, {6000, 6000, 1}, {6001, 6000, 2}, {100_000, 10_000, 10}, {100_100, 10_000, 11},
		{1, 0, 1}, {math.MaxInt64, 1, ShardsMax}} {
		if got := Count(c.rus, c.per); got != c.want {
			t.Errorf("Count(%d, %d) = %d, want %d", c.rus, c.per, got, c.want)
		}
	}
}

func TestRange(t *testing.T) {
	for _, c := range [][2]keyspace.Hash{{0, 0}, {0, keyspace.HashMax}, {5, 5}, {5, keyspace.HashMax}, {keyspace.HashMax, keyspace.HashMax}} {
		r := HashRange(c[0], c[1])
		lo, hi := r.Hashes()
		if lo != c[0] || hi != c[1] || r.IsEmpty() || !r.Contains(HashPosition(lo)) || !r.Contains(HashPosition(hi)) {
			t.Errorf("%v: %v %v", c, lo, hi)
		}
	}
}

// FuzzMap requires that, after any splits, merges and settles in any order, the map passes Check and survives
// storage.
func FuzzMap(f *testing.F) {
	f.Add([]byte{0, 0, 0x80, 0, 0, 0x40, 2, 1, 1, 1, 0, 0}, uint8(1), false)
	f.Add([]byte{0, 0, 0x80, 0, 1, 0xC0, 1, 0, 1}, uint8(3), false)
	f.Add([]byte{0, 0, 0x80, 0, 0, 0x40, 1, 0, 0, 2, 0, 0}, uint8(1), true)
	f.Fuzz(func(t *testing.T, ops []byte, n uint8, ranged bool) {
		kind := Hashed
		if ranged {
			kind, n = Ranged, 0
		}
		ops = ops[:min(len(ops), 300)]
		m, err := NewMap(kind, 1, 1+int(n)%64)
		if err != nil {
			t.Fatal(err)
		}
		for ; len(ops) >= 3; ops = ops[3:] {
			before, version := m.Encode(), m.Version()
			i := int(ops[1]) % m.Len()
			d := m.Shards()[i]
			var next *Map
			switch ops[0] % 3 {
			case 0:
				at := Position(binary.BigEndian.AppendUint64(nil, uint64(ops[2])<<56|uint64(ops[1])<<8))
				if ranged {
					at = append(HashPosition(0), bytes.Repeat(ops[1:2], int(ops[2])%5)...)
				}
				next, err = m.Split(d.ID, at)
				if err == nil && (next.Len() != m.Len()+1 || next.FindPosition(at).Lo.String() != at.String()) {
					t.Fatalf("split at %v: %+v", at, next.FindPosition(at))
				}
			case 1:
				next, err = m.Merge(d.ID, m.Shards()[(i+1)%m.Len()].ID)
			case 2:
				next, err = m.Settle(d.ID)
			}
			if !bytes.Equal(before, m.Encode()) || m.Version() != version {
				t.Fatal("the old map changed")
			}
			if err != nil {
				continue
			}
			if err := next.Check(); err != nil {
				t.Fatal(err)
			}
			if next != m && !m.Version().Before(next.Version()) {
				t.Fatalf("version %v after %v", next.Version(), m.Version())
			}
			m = next
		}
		back, err := Decode(m.Encode())
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("decoded %+v, %v", back, err)
		}
	})
}
