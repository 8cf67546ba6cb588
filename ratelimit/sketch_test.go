package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A Sketch finds the heavy keys of a skewed stream, and their true weights lie between Weight-Error and Weight.
func TestSketch(t *testing.T) {
	s := NewSketch(32)
	truth := map[string]int64{}
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		key := fmt.Sprintf("cold%d", r.IntN(5000))
		if r.IntN(3) == 0 {
			key = fmt.Sprintf("hot%d", r.IntN(4))
		}
		w := r.Int64N(10)
		truth[key] += w
		s.Add([]byte(key), w)
	}
	top := s.Top(10)
	if len(top) != 10 || len(s.heap) != 32 || len(s.index) != 32 {
		t.Fatalf("%d keys, %d kept, %d indexed", len(top), len(s.heap), len(s.index))
	}
	for i, h := range top {
		if i < 4 && !strings.HasPrefix(h.Key, "hot") {
			t.Errorf("place %d is %s", i, h.Key)
		}
		if h.Weight < truth[h.Key] || h.Weight-h.Error > truth[h.Key] {
			t.Errorf("%s: %d ± %d, truth %d", h.Key, h.Weight, h.Error, truth[h.Key])
		}
	}
	before := top[0].Weight
	s.Halve()
	if s.Top(1)[0].Weight != before/2 {
		t.Error("Halve")
	}
	key := []byte("hot1")
	if n := testing.AllocsPerRun(100, func() { s.Add(key, 1) }); n != 0 {
		t.Errorf("%v allocations for a known key", n)
	}
	s.Add(make([]byte, 1<<20), 1<<40)
	if len(s.Top(1)[0].Key) != keyBytesMax {
		t.Error("a long key is kept whole")
	}
	var zero Sketch
	zero.Add(key, 5)
	if len(zero.Top(3)) != 1 || len(zero.Top(-1)) != 0 {
		t.Error("zero Sketch")
	}
}

func TestHotKeysFollowTheMap(t *testing.T) {
	p := newPool(1, nil)
	p.SetShards(t0, []int{0, 1})
	p.CountKey(1, []byte("k"), 3*RU, 100, nil)
	if h := p.Hot(1).ByRU.Top(1); len(h) != 1 || h[0].Weight != int64(3*RU) {
		t.Errorf("%+v", h)
	}
	p.SetShards(t0, []int{0, 2, 3})
	if len(p.Hot(1).ByRU.Top(1)) != 0 {
		t.Error("statistics of a gone shard remain")
	}
}

// MergeHot adds up the sketches of two servers key by key, and returns the keys that are heaviest in both together.
func TestMergeHot(t *testing.T) {
	a, b := NewSketch(4), NewSketch(4)
	for key, w := range map[string]int64{"x": 5, "y": 4, "z": 1} {
		a.Add([]byte(key), w)
	}
	for key, w := range map[string]int64{"y": 4, "v": 7, "w": 1} {
		b.Add([]byte(key), w)
	}
	got := fmt.Sprint(MergeHot(3, a.Top(4), b.Top(4)))
	if want := "[{y 8 0 []} {v 7 0 []} {x 5 0 []}]"; got != want {
		t.Errorf("%s, wanted %s", got, want)
	}
	if got := MergeHot(3, a.Top(2)); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
