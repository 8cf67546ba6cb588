package ratelimit

import (
	"slices"
	"testing"
	"time"
)

// TestEachActivity checks that EachActivity visits only the collections with requests since the last call, and those
// with limited throughput, for the last time in the first call after they are dropped.
func TestEachActivity(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	b := &Budgets{}
	for id := range uint64(100) {
		b.Collection(id)
	}
	visited := func() (out []ShardID) {
		b.EachActivity(func(at ShardID, _ Activity) { out = append(out, at) })
		return out
	}
	work := func(collection uint64) {
		var m Meter
		m.Reset(collection, nil)
		m.WriteNew(0, 100)
		b.Charge(now, Class{}, &m)
		b.Ended(&m, HasWritten, time.Millisecond)
	}
	want := func(places ...ShardID) {
		t.Helper()
		if got := visited(); !slices.Equal(got, places) {
			t.Errorf("%v were visited, want %v", got, places)
		}
	}
	want()
	work(7)
	work(3)
	work(7)
	want(ShardID{7, 0}, ShardID{3, 0})
	want()
	b.Collection(5).Set(now, Throughput{Mode: Manual, RUs: 400}, Options{})
	work(3)
	want(ShardID{5, 0}, ShardID{3, 0})
	want(ShardID{5, 0})
	b.Drop(5)
	want(ShardID{5, 0})
	want()
}
