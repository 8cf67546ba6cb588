package session

import (
	"runtime"
	"strings"
	"testing"

	"github.com/cantledb/cantle/ratelimit"
)

// nth returns one of many ids.
func nth(n int) ID { return ID{UUID: [16]byte{0: byte(n >> 16), 7: byte(n >> 8), 15: byte(n)}} }

// fillUp makes sessions for an account until one is refused, and returns the number of sessions made.
func fillUp(t *testing.T, r *Registry, account string, from int) (n int) {
	t.Helper()
	for ; n < 1<<20; n++ {
		if err := r.Touch(nth(from+n), account); err != nil {
			if code(err) != "261" || !strings.Contains(err.Error(), account) || !strings.Contains(err.Error(), "endSessions") {
				t.Error(err)
			}
			return n
		}
	}
	t.Fatal("an account is never refused")
	return n
}

// An account that takes all sessions that it can get leaves a third of all sessions to other accounts, and the next
// account leaves a third of these. An account whose sessions end can make new ones, and at the end nothing stays
// charged.
func TestShares(t *testing.T) {
	memory := ratelimit.NewMemory(900 * sessionBytes)
	for name, cfg := range map[string]Config{"by number": {Max: 900}, "by memory": {Memory: memory}} {
		t.Run(name, func(t *testing.T) {
			r := New(cfg)
			greedy := fillUp(t, r, "greedy", 0)
			second := fillUp(t, r, "second", 10_000)
			if greedy != 600 || second != 200 {
				t.Errorf("the greedy one has %d of 900, the second one %d", greedy, second)
			}
			if err := r.Touch(nth(20_000), "modest"); err != nil {
				t.Error(err)
			}
			if _, err := r.Checkout(t.Context(), Args{ID: nth(20_001), TxnNumber: 1, Account: "modest"}); err != nil {
				t.Error(err)
			}
			if err := r.Touch(nth(0), "greedy"); err != nil {
				t.Error("a session that there is:", err)
			}
			r.End(r.ids(func(ID) bool { return true })...)
			if again := fillUp(t, r, "greedy", 0); again != 600 {
				t.Errorf("and again %d", again)
			}
			r.End(r.ids(func(ID) bool { return true })...)
		})
	}
	if used := memory.Stats().Used; used != 0 {
		t.Errorf("%d bytes stay counted", used)
	}
}

// TestSessionBytes compares the bytes that are charged for a session with the heap memory that a session takes.
func TestSessionBytes(t *testing.T) {
	const n = 100_000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r, before := New(Config{}), heap()
	for i := range n {
		if err := r.Touch(nth(i), "a"); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / n
	t.Logf("%d bytes", each)
	if each > sessionBytes || each < sessionBytes/2 {
		t.Errorf("a session takes %d bytes, and is counted for %d", each, sessionBytes)
	}
	runtime.KeepAlive(r)
}
