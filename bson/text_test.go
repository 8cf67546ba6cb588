package bson_test

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
)

// TestTextOfLargeArray requires that an array of many elements is printed without an allocation for each, and only
// its beginning if the text is clipped.
func TestTextOfLargeArray(t *testing.T) {
	b := bson.NewBuilder(nil)
	b.BeginArray("a")
	for i := range 20_000 {
		b.Int32("", int32(i))
	}
	b.End()
	doc := b.Doc()
	if got := doc.Clipped(14); got != "{ a: [ 0, 1, 2..." {
		t.Errorf("clipped: %s", got)
	}
	if got := doc.String(); !strings.HasSuffix(got, "19998, 19999 ] }") {
		t.Errorf("ends with %s", got[len(got)-20:])
	}
	if n := testing.AllocsPerRun(1, func() { _ = doc.String() }); n > 100 {
		t.Errorf("%v allocations for the text of 20,000 elements", n)
	}
}

func TestClipped(t *testing.T) {
	var a bson.Arena
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 10, `"abc"`}, {"abc", 5, `"abc"`}, {"abc", 3, `"ab...`}, {"éé", 2, `"...`}, {"abc", 0, "..."},
	} {
		if got := a.String(c.text).Clipped(c.n); got != c.want {
			t.Errorf("%q cut to %d bytes: %s, want %s", c.text, c.n, got, c.want)
		}
	}
}
