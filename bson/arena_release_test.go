package bson

import "testing"

// A loop that takes a mark and releases it in each round holds as much memory after 200 rounds as after 100, with
// values that do not fit into the chunk that was current at the mark.
func TestArenaLoopIsBounded(t *testing.T) {
	for _, before := range []int{0, 100} {
		var a Arena
		a.Alloc(before)
		var held [2]int
		for i := range held {
			for range 100 {
				m := a.Mark()
				a.Alloc(1 << 20)
				a.Alloc(3 << 20)
				a.Release(m)
			}
			held[i] = a.Held()
		}
		if held[0] != held[1] {
			t.Errorf("%d bytes before the loop: it holds %d bytes after 100 rounds and %d after 200", before, held[0], held[1])
		}
	}
}
