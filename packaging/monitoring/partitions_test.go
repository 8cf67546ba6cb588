package monitoring

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// state is the load of the partitions of a collection, in RU/s; limit is the RU/s of each, 0 without a budget.
type state struct {
	name  string
	loads func(n int) []float64
	limit func(n int) float64
	// alerts that fire with one partition, and with several
	one, several []string
}

// spreadOf returns a load of 1,000 RU/s on n partitions, of which the first has a share, and the others have the same.
func spreadOf(share float64) func(n int) []float64 {
	return func(n int) (out []float64) {
		for i := range n {
			v := 1000.0
			if n > 1 && i == 0 {
				v = 1000 * share
			} else if n > 1 {
				v = 1000 * (1 - share) / float64(n-1)
			}
			out = append(out, v)
		}
		return out
	}
}

func evenly(n int) []float64 { return spreadOf(1 / float64(n))(n) }

// The alerts about partitions follow the rule of the package shard/skew with 1, 2, 3, 4 and 512 partitions: even and
// uneven loads, without a budget, with one that is not used up, and with one that is.
func TestPartitionAlerts(t *testing.T) {
	none, wide := func(int) float64 { return 0 }, func(int) float64 { return 10000 }
	tight := func(n int) float64 { return 500 / float64(n) }
	hot, uneven, full := "CantleHotPartition", "CantleUnevenPartitions", "CantleThroughputUsedUp"
	states := []state{
		{"even, no budget", evenly, none, nil, nil},
		{"even, with room", evenly, wide, nil, nil},
		{"even, used up", evenly, tight, []string{full}, []string{full}},
		{"hot, no budget", spreadOf(0.86), none, nil, []string{uneven}},
		{"hot, with room", spreadOf(0.86), wide, nil, []string{uneven}},
		{"hot, used up", spreadOf(0.86), tight, []string{full}, []string{hot}},
	}
	w := &world{t: t, store: &store{}, now: time.Now()}
	counts := []int{1, 2, 3, 4, 512}
	const minutes = 25
	for i := range minutes {
		w.now = w.now.Add(interval)
		for _, s := range states {
			for _, n := range counts {
				w.partitions(fmt.Sprintf("%s on %d", s.name, n), s.loads(n), s.limit(n), i)
			}
		}
	}
	for _, r := range rules(t) {
		if r.Alert != hot && r.Alert != uneven && r.Alert != full {
			continue
		}
		fires := w.fires(r)
		for _, s := range states {
			for _, n := range counts {
				want := s.several
				if n == 1 {
					want = s.one
				}
				name := fmt.Sprintf("%s on %d", s.name, n)
				expected := len(want) > 0 && want[0] == r.Alert
				if r.Alert == uneven && s.name == "hot, used up" {
					continue // it may fire beside the other one
				}
				if fires[name] != expected {
					t.Errorf("%s, %s: fires: %t", r.Alert, name, fires[name])
				}
			}
		}
	}
}

// partitions stores the metrics of a collection's partitions as a server reports them: at most 50 have their own
// series, the others share one.
func (w *world) partitions(instance string, loads []float64, limit float64, minute int) {
	add := func(name, partition string, v float64) {
		w.store.add(labels.FromStrings(labels.MetricName, name, "job", "cantle", "instance", instance, "database", "shop", "collection", "orders", "partition", partition), w.now.UnixMilli(), v)
	}
	series := func(partition string, loads []float64) {
		used, busy := 0.0, 0.0
		for _, v := range loads {
			if limit > 0 {
				v = min(v, limit)
				busy = max(busy, 100*v/limit)
			}
			used += v
		}
		add("cantle_request_units_total", partition, used*interval.Seconds()*float64(minute))
		add("cantle_normalized_ru_consumption_percent", partition, float64(int(busy)))
		if limit > 0 {
			add("cantle_provisioned_request_units", partition, limit*float64(len(loads)))
		}
	}
	own := min(len(loads), 50)
	for i, v := range loads[:own] {
		series(fmt.Sprint(i), []float64{v})
	}
	if own < len(loads) {
		series("$other", loads[own:])
	}
}
