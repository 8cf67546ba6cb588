package catalog

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestEntries changes entries at random, copy by copy, and keeps about every twentieth copy. Each kept one must still
// equal a plain map with the same changes after all later copies have changed, and the differences between two of them
// must be those between the maps.
func TestEntries(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 1))
	type state struct {
		got  entries[int, int]
		want map[int]int
	}
	now := state{want: map[int]int{}}
	var kept []state
	for made := range 2000 {
		next := state{now.got, maps.Clone(now.want)}
		for i := range r.IntN(4) {
			if k := r.IntN(500); r.IntN(3) == 0 {
				next.got.put(k, 0)
				delete(next.want, k)
			} else {
				next.got.put(k, 4*made+i+1)
				next.want[k] = 4*made + i + 1
			}
		}
		if now = next; r.IntN(20) == 0 {
			kept = append(kept, now)
		}
	}
	kept = append(kept, now)
	for i, s := range kept {
		if got := maps.Collect(s.got.each); !maps.Equal(got, s.want) {
			t.Fatalf("seed %d: state %d has %d entries, want %d", seed, i, len(got), len(s.want))
		}
		for k := range 500 {
			if s.got.get(k) != s.want[k] {
				t.Fatalf("seed %d: state %d differs at %d", seed, i, k)
			}
		}
		before := kept[r.IntN(len(kept))]
		found := map[[2]int]bool{}
		s.got.changes(before.got, func(was, is int) { found[[2]int{was, is}] = true })
		for k := range 500 {
			change := [2]int{before.want[k], s.want[k]}
			if differs := change[0] != change[1]; differs != found[change] {
				t.Fatalf("seed %d: %d became %d at %d of state %d, found: %v", seed, change[0], change[1], k, i, found[change])
			}
			delete(found, change)
		}
		if len(found) > 0 {
			t.Fatalf("seed %d: state %d: changes that are none: %v", seed, i, found)
		}
	}
	for k := range 500 {
		now.got.put(k, 0)
	}
	if now.got.root != nil {
		t.Error("something is left of what was taken away")
	}
}

// TestEntriesOfOneHash: keys with the same hash are distinguished, and so are keys whose hashes differ only in the
// highest bit, which the tree uses last.
func TestEntriesOfOneHash(t *testing.T) {
	var root *node[string, int]
	for i, k := range []string{"a", "b", "c"} {
		root = root.with(7, 0, pair[string, int]{k, i + 1})
	}
	root = root.with(7|1<<63, 0, pair[string, int]{"d", 4})
	root = root.with(7, 0, pair[string, int]{"b", 0})
	for k, want := range map[string]int{"a": 1, "b": 0, "c": 3} {
		if got := root.get(7, 0, k); got != want {
			t.Errorf("%s is %d, want %d", k, got, want)
		}
	}
	if got := root.get(7|1<<63, 0, "d"); got != 4 {
		t.Errorf("d is %d", got)
	}
}

// TestEntriesShare: with ten thousand entries, a change makes at most 20 objects, as it copies only the nodes on the
// way to its key, and changes finds just this one.
func TestEntriesShare(t *testing.T) {
	var e entries[int, int]
	for k := range 10_000 {
		e.put(k, k+1)
	}
	before := e
	allocs := testing.AllocsPerRun(100, func() { e = before; e.put(5000, -1) })
	if allocs > 20 {
		t.Errorf("a change beside 10,000 entries makes %.0f objects", allocs)
	}
	visits := 0
	e.changes(before, func(was, is int) { visits++ })
	if visits != 1 {
		t.Errorf("%d changes were found", visits)
	}
}
