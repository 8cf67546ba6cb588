package balance

import (
	"testing"

	"github.com/cantledb/cantle/collection/shard"
)

func newMap(t testing.TB, n int) *shard.Map {
	t.Helper()
	m, err := shard.NewMap(shard.Hashed, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDecide(t *testing.T) {
	p := Policy{ShardBytes: 100, ShardRU: 1000}
	m := newMap(t, 3)
	for name, c := range map[string]struct {
		l    Loads
		p    Policy
		want []Action
	}{
		"nothing": {Loads{Shards: map[shard.ID]Load{0: {Docs: 5, Bytes: 100}}}, p, nil},
		"size": {Loads{Shards: map[shard.ID]Load{0: {Docs: 5, Bytes: 101}, 2: {Docs: 9, Bytes: 500}}}, p,
			[]Action{{Kind: Split, Shard: 2}, {Kind: Split, Shard: 0}}},
		"one document": {Loads{Shards: map[shard.ID]Load{0: {Docs: 1, Bytes: 101}}}, p, nil},
		"throughput":   {Loads{RUs: 4001, Shards: map[shard.ID]Load{1: {Bytes: 50}}}, p, []Action{{Kind: Split, Shard: 1}, {Kind: Split, Shard: 2}}},
		"both": {Loads{RUs: 4000, Shards: map[shard.ID]Load{1: {Docs: 7, Bytes: 150}, 0: {Docs: 7, Bytes: 90}}}, p,
			[]Action{{Kind: Split, Shard: 1}}},
		"most":     {Loads{RUs: 9000}, Policy{ShardRU: 1000, ShardsMax: 4}, []Action{{Kind: Split, Shard: 2}}},
		"no merge": {Loads{}, p, nil},
		"merge":    {Loads{}, Policy{ShardBytes: 100, ShardRU: 1000, Merge: true}, []Action{{Kind: Merge, Shard: 0, With: 1}}},
		"merge warm": {Loads{Shards: map[shard.ID]Load{0: {RUs: 500}}}, Policy{ShardBytes: 100, ShardRU: 1000, Merge: true},
			[]Action{{Kind: Merge, Shard: 1, With: 2}}},
		"merge needed": {Loads{RUs: 3000}, Policy{ShardBytes: 100, ShardRU: 1000, Merge: true}, nil},
	} {
		got := Decide(m, c.l, c.p)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		for i, a := range got {
			if a.Kind != c.want[i].Kind || a.Shard != c.want[i].Shard || a.With != c.want[i].With || a.Why == "" {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
	if u, _ := shard.NewMap(shard.Unsharded, 1, 1); Decide(u, Loads{RUs: 1e6, Shards: map[shard.ID]Load{0: {Docs: 9, Bytes: 1e9}}}, p) != nil {
		t.Error("an unsharded collection cannot split")
	}
}

// FuzzDecide lets Decide decide by random loads in four rounds, and carries out all actions on the shard map. The map
// must stay valid, no shard may be named twice in a round, and there are at most 64 shards.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{200, 10, 90, 3, 250, 1}, uint16(5000), false)
	f.Add([]byte{0, 0, 0, 255}, uint16(0), true)
	f.Fuzz(func(t *testing.T, bytes []byte, rus uint16, merge bool) {
		m := newMap(t, 1+len(bytes)%5)
		p := Policy{ShardBytes: 100, ShardRU: 700, Merge: merge, ShardsMax: 64}
		for round := range 4 {
			l := Loads{RUs: int64(rus), Shards: map[shard.ID]Load{}}
			for i, d := range m.Shards() {
				if len(bytes) > 0 {
					n := int64(bytes[(i*7+round)%len(bytes)])
					l.Shards[d.ID] = Load{Docs: n, Bytes: n, RUs: n * 3}
				}
			}
			seen := map[shard.ID]bool{}
			for _, a := range Decide(m, l, p) {
				if seen[a.Shard] || a.Kind == Merge && seen[a.With] {
					t.Fatal("a shard is named twice")
				}
				seen[a.Shard] = true
				var next *shard.Map
				var err error
				if a.Kind == Merge {
					seen[a.With] = true
					next, err = m.Merge(a.Shard, a.With)
				} else {
					at, _ := m.Shard(a.Shard).Middle()
					next, err = m.Split(a.Shard, shard.HashPosition(at))
				}
				if err != nil {
					t.Fatalf("%v: %v", a, err)
				}
				if m = next; m.Check() != nil {
					t.Fatal(m.Check())
				}
				for _, d := range m.Shards() {
					m, _ = m.Settle(d.ID)
				}
			}
			if m.Len() > 64 {
				t.Fatal("too many shards")
			}
		}
	})
}
