package bson_test

import (
	"testing"

	"github.com/cantledb/cantle/bson"
)

// TestRepeated requires that a repeated name is found at every position, among few and many fields.
func TestRepeated(t *testing.T) {
	for _, n := range []int{2, 15, 16, 17, 40} {
		for first := range n {
			for second := first + 1; second < n; second++ {
				b := bson.NewBuilder(nil)
				for i := range n {
					name := "field" + string(rune('a'+i/26)) + string(rune('a'+i%26))
					if i == first || i == second {
						name = "twice"
					}
					b.Int32(name, 1)
				}
				name, ok := b.Doc().Repeated()
				if !ok || string(name) != "twice" {
					t.Fatalf("%d fields, the same at %d and %d: %q, %v", n, first, second, name, ok)
				}
			}
		}
	}
	if _, ok := bson.Empty.Repeated(); ok {
		t.Error("an empty document repeats a name")
	}
}
