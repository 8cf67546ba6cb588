package exec

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/mql"
)

// TestSortByKeys compares the order of random keys with that of package slices: short ones, keys with zeros, and keys
// that differ behind the prefix.
func TestSortByKeys(t *testing.T) {
	env, r := mql.NewEnv(context.Background()), rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		keys := map[string]bool{}
		for range n {
			key := strings.Repeat("x", r.IntN(3)*8)
			for range r.IntN(4) {
				key += string("\x00\x01ab\xff"[r.IntN(5)])
			}
			keys[key] = true
		}
		var items, want []string
		for key := range keys {
			items, want = append(items, key), append(want, key)
		}
		slices.Sort(want)
		err := SortByKeys(env, items, func(s *string) KeyPrefix { return PrefixOf(*s) }, func(a, b *string) int { return strings.Compare(*a, *b) })
		if err != nil || !slices.Equal(items, want) {
			t.Fatalf("%q, want %q: %v", items, want, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	rows := make([]sortRow, 10_000)
	for i := range rows {
		rows[i].seq = int64(-i)
	}
	if err := sortRows(mql.NewEnv(ctx), rows); err == nil {
		t.Error("a sort was not interrupted")
	}
}
