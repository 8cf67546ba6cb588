package history

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/memkv"
)

// heap returns the bytes of the process's heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The history of seven days of 512 partitions that are busy in every second takes at most 15 MiB of memory, and at most
// 22 MiB if each of them has refusals and failures in every second as well.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name     string
		w        work
		maxBytes int64
	}{
		{"busy", work{ru: 5e6, bytes: 1 << 20, reads: 10, writes: 5, ended: 15, micros: 30_000}, 15 << 20},
		{"all metrics", work{ru: 5e6, bytes: 1 << 20, reads: 10, writes: 5, ended: 15, micros: 30_000, refused: 3, fails: 2}, 22 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := heap()
			r := New(Config{})
			r.begin(1_800_000_000)
			for l := range r.rings {
				for n := range levels[l].columns {
					for i := range RowsMax {
						r.rings[l].add(i, &c.w)
					}
					r.rings[l].close(r.open/levels[l].step + n)
				}
			}
			got := heap() - before
			t.Logf("%.1f MB", float64(got)/1e6)
			if got > c.maxBytes {
				t.Errorf("%d bytes, at most %d were expected", got, c.maxBytes)
			}
			runtime.KeepAlive(r)
		})
	}
}

// The work of more shapes than there are numbers, with long texts, in all steps, takes at most 5 MB.
func TestShapesMemory(t *testing.T) {
	before := heap()
	r := New(Config{})
	r.begin(1_800_000_000)
	long := strings.Repeat("x", 590)
	for l := Tens; l < levelCount; l++ {
		for n := range levels[l].columns {
			for i := range shapesOfStep + 2*othersOfStep {
				s := Shape{Namespace: fmt.Sprintf("test.c%d", i), Command: "find", Filter: fmt.Sprintf("{%s%d: ?}", long, n/40*100+int64(i))}
				r.rings[l].shapesNow.add(r.shapeID(s), ShapeWork{RU: float64(i), Runs: 1})
			}
			r.closeColumn(&r.rings[l], r.open/levels[l].step+n)
		}
	}
	got := heap() - before
	t.Logf("%.1f MB, %d shapes", float64(got)/1e6, len(r.names.ids))
	if got > 5e6 || len(r.names.shapes) != shapeIDsMax {
		t.Errorf("%d bytes, %d numbers", got, len(r.names.shapes))
	}
	runtime.KeepAlive(r)
}

// However many partitions there are, the busy ones share the existing rows (RowsMax), and idle rows go to those that
// need one.
func TestTooMany(t *testing.T) {
	r := rows{rowOf: map[ratelimit.ShardID]int{}, shared: map[ratelimit.ShardID]bool{}}
	part := func(i int) *Part {
		return &Part{Place: ratelimit.ShardID{Collection: 1, Shard: i}, Sort: string([]byte{byte(i >> 8), byte(i)})}
	}
	used := map[int]int{}
	for i := range 600 {
		used[r.of(part(i), 1000)]++
	}
	if len(r.list) != RowsMax || len(used) != RowsMax || r.list[RowsMax-1].now().part.Others != 600-RowsMax {
		t.Errorf("%d rows, %d in use, the last one shared by %d", len(r.list), len(used), r.list[RowsMax-1].now().part.Others)
	}
	r.reclaim()
	for i := range 100 { // the first ones are busy, the others idle
		r.of(part(i), 1000+idleSeconds)
	}
	at := r.of(part(599), 1000+idleSeconds+1)
	if s := r.list[at].now(); s.part.Place.Shard != 599 || s.part.Others != 0 || len(r.list[at].stays) != 2 || r.list[at].stays[0].until != 1001 {
		t.Errorf("the newcomer got %+v", r.list[at])
	}
	for n := range 50 {
		second := int64(10_000 * (n + 1))
		for i := range RowsMax {
			r.of(part(1000+1000*n+i), second)
		}
	}
	for i := range r.list {
		if n := len(r.list[i].stays); n > staysMax {
			t.Fatalf("row %d remembers %d partitions", i, n)
		}
	}
}

// BenchmarkLook measures the update of the history after one second of a server with 512 busy partitions.
func BenchmarkLook(b *testing.B) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	cat, err := catalog.Open(b.Context(), store, release.Default)
	if err != nil {
		b.Fatal(err)
	}
	clock := ratelimit.NewVirtualClock(time.Unix(1_800_000_000, 0))
	budgets := &ratelimit.Budgets{Clock: clock}
	r := New(Config{Catalog: cat, Budgets: budgets, Now: clock.Now})
	r.Update()
	shards := make([]int, RowsMax)
	for i := range shards {
		shards[i] = i
		at := ratelimit.ShardID{Collection: 1, Shard: i}
		r.census.parts[at] = &Part{Place: at, Namespace: "test.orders"}
	}
	budgets.Collection(1).SetShards(clock.Now(), shards)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i := range shards {
			var m ratelimit.Meter
			m.Reset(1, nil)
			m.WriteNew(i, 2000)
			budgets.Charge(clock.Now(), ratelimit.Class{}, &m)
			budgets.Ended(&m, ratelimit.HasWritten, time.Millisecond)
		}
		clock.Advance(time.Second)
		b.StartTimer()
		r.Update()
	}
}
