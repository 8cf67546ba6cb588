package records

import "testing"

// TestColumnsInside checks that a column inside of another one is refused in both orders: the document would have the
// field twice.
func TestColumnsInside(t *testing.T) {
	for _, names := range [][]string{{"a", "a.b"}, {"a.b", "a"}, {"a.b.c", "a.b"}, {"a.b.c", "a"}, {"a", "a"}, {""}} {
		if err := new(Table).ColumnsOf(names); err == nil {
			t.Errorf("the columns %q are taken", names)
		}
	}
	for _, names := range [][]string{{"a.b", "a.c", "ab"}, {"a.b.c", "a.bc", "b"}} {
		if err := new(Table).ColumnsOf(names); err != nil {
			t.Errorf("the columns %q: %v", names, err)
		}
	}
}
