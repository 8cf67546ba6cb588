package tally_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/tally"
)

// list prints the heavy values as key:bytes@shard.
func list(h *tally.Heavy) string {
	var out []string
	for _, k := range h.List() {
		out = append(out, fmt.Sprintf("%s:%d@%v", k.Key, k.Bytes(), k.Shard()))
	}
	return strings.Join(out, " ")
}

func TestHeavy(t *testing.T) {
	var h tally.Heavy
	if h.Any() || h.Of([]byte("a")) != nil || list(&h) != "" {
		t.Error("the zero Heavy knows values")
	}
	for _, c := range []struct {
		shard shard.ID
		sizes map[string]int64
		want  string
	}{
		{1, map[string]int64{"a": 10, "b": 30}, "b:30@1 a:10@1"},
		{2, map[string]int64{"c": 20, "d": 10}, "b:30@1 c:20@2 a:10@1 d:10@2"},
		{1, map[string]int64{"a": 15}, "c:20@2 a:15@1 d:10@2"}, // b is light again
		{2, nil, "a:15@1"},
		{2, map[string]int64{"a": 40}, "a:40@2"}, // the value moved with a split
		{1, nil, "a:40@2"},
		{2, nil, ""},
	} {
		h.Measured(c.shard, c.sizes)
		if got := list(&h); got != c.want {
			t.Fatalf("after shard %v was measured as %v: %s; want %s", c.shard, c.sizes, got, c.want)
		}
		if got := h.Any(); got != (c.want != "") {
			t.Fatalf("Any is %v with %q", got, c.want)
		}
	}
}

func TestHeavyAdd(t *testing.T) {
	var h tally.Heavy
	h.Measured(1, map[string]int64{"a": 10, "b": 10})
	h.Of([]byte("a")).Add(5)
	h.Of([]byte("b")).Add(-5)
	if got := list(&h); got != "a:15@1 b:5@1" {
		t.Error(got)
	}
	if h.Of([]byte("c")) != nil {
		t.Error("a light value is known")
	}
}

func TestHeavyWarnsOnce(t *testing.T) {
	var h tally.Heavy
	h.Measured(1, map[string]int64{"a": 10, "b": 10})
	a := h.Of([]byte("a"))
	if !a.FirstWarning() || a.FirstWarning() {
		t.Error("a value is warned of not exactly once")
	}
	h.Measured(1, map[string]int64{"a": 20, "b": 20})
	if h.Of([]byte("a")).FirstWarning() {
		t.Error("a second measuring makes the warning come again")
	}
	if !h.Of([]byte("b")).FirstWarning() {
		t.Error("nobody was warned of b")
	}
	h.Measured(1, nil)
	h.Measured(1, map[string]int64{"a": 20})
	if !h.Of([]byte("a")).FirstWarning() {
		t.Error("no warning of a value that was light meanwhile")
	}
}
