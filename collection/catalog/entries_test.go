package catalog

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestEntries changes entries at random, fork by fork: each fork is what a plain map would be, and
// stays so while later ones change.
func TestEntries(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 1))
	type state struct {
		got  entries[int]
		want map[int]*Collection
	}
	now := state{entries[int]{}.fork(), map[int]*Collection{}}
	var kept []state
	deepest := 0
	for range 2000 {
		next := state{now.got.fork(), maps.Clone(now.want)}
		for range r.IntN(4) {
			if k := r.IntN(500); r.IntN(3) == 0 {
				next.got.put(k, nil)
				delete(next.want, k)
			} else {
				c := &Collection{}
				next.got.put(k, c)
				next.want[k] = c
			}
		}
		deepest = max(deepest, len(next.got.top))
		if now = next; r.IntN(20) == 0 {
			kept = append(kept, now)
		}
	}
	for i, s := range append(kept, now) {
		if got := maps.Collect(s.got.each); !maps.Equal(got, s.want) {
			t.Fatalf("seed %d: state %d has %d entries, want %d", seed, i, len(got), len(s.want))
		}
		for k := range 500 {
			if s.got.get(k) != s.want[k] {
				t.Fatalf("seed %d: state %d differs at %d", seed, i, k)
			}
		}
	}
	if deepest > topMin+4 || len(now.got.all) == 0 {
		t.Errorf("up to %d lay on top of %d", deepest, len(now.got.all))
	}
}
