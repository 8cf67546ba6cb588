package bson

import "testing"

// TestHashedKey compares with hashes in the manual.
func TestHashedKey(t *testing.T) {
	var a Arena
	for _, c := range []struct {
		v    Value
		want int64
	}{
		{a.String("string to hash"), 763543691661428748},
		{a.Int32(1), 5902408780260971510},
		{a.Double(1.9), 5902408780260971510},
	} {
		if got := HashedKey(c.v); got != c.want {
			t.Errorf("HashedKey(%s) = %d, want %d", c.v, got, c.want)
		}
	}
}
