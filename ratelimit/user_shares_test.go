package ratelimit

import "testing"

// TestUserShares checks that one user may hold two thirds of a memory, that users that come later find free memory,
// that a second connection of a user gets no more, and that a user without connections is forgotten when it holds
// nothing.
func TestUserShares(t *testing.T) {
	all := NewMemory(9000)
	s := NewUserShares(all.Part(9000))
	greedy := s.Enter("greedy")
	fill := func(m *Memory) (n int64) {
		for m.Take(100) {
			n += 100
		}
		return n
	}
	if n := fill(greedy); n != 6000 || greedy.Free() != 0 {
		t.Errorf("alone a user gets %d, %d free", n, greedy.Free())
	}
	modest := s.Enter("modest")
	if free := modest.Free(); free < 1900 || free > 2000 {
		t.Errorf("%d free for a second one", free)
	}
	if n := fill(modest); n != 2000 {
		t.Errorf("a second one gets %d", n)
	}
	if again := s.Enter("greedy"); again != greedy || again.Take(100) {
		t.Error("a second connection gets more")
	}
	third := s.Enter("third")
	if n := fill(third); n < 600 {
		t.Errorf("a third one gets %d", n)
	}
	greedy.Give(4000)
	if n := fill(modest); n == 0 || all.Stats().Used > 9000 {
		t.Errorf("after that %d, %d used", n, all.Stats().Used)
	}
	for range 2 {
		s.Leave("greedy")
	}
	if s.Enter("greedy") != greedy {
		t.Error("who left with something in hand comes back with empty hands")
	}
	s.Leave("greedy")
	greedy.Give(greedy.Stats().Used)
	s.Enter("another")
	s.Leave("nobody")
	if s.Enter("greedy") == greedy {
		t.Error("who has left is remembered")
	}
	var none *UserShares
	if m := none.Enter("x"); !m.Take(1 << 60) {
		t.Error("no memory has an end")
	}
	none.Leave("x")
}
