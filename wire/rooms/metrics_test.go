package rooms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/wire/command/status"
	"github.com/prometheus/client_golang/prometheus"
)

// gathered returns the values of the metrics by name and label values, name{v1,v2,}: for a histogram, the number of
// its samples.
func gathered(t *testing.T, m *status.Metrics) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, x := range f.GetMetric() {
			labels := ""
			for _, l := range x.GetLabel() {
				labels += l.GetValue() + ","
			}
			v := x.GetCounter().GetValue() + x.GetGauge().GetValue()
			if h := x.GetHistogram(); h != nil {
				v = float64(h.GetSampleCount())
			}
			out[f.GetName()+"{"+labels+"}"] = v
		}
	}
	return out
}

// The metrics for Prometheus agree with the commands that ran and their charges, and the number of series is bounded.
func TestMetrics(t *testing.T) {
	w, _ := clockWorld(t, nil)
	m := w.Status.Metrics()
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400}`)
	sum := 0.0
	for i := range 10 {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, k: %d}]}`, i, i))
		sum += c.charge()
	}
	refused := c.throttled("c", "", 100)
	if code := c.code(`{find: "c", filter: {$foo: 1}}`); code == 0 {
		t.Fatal("a bad filter")
	}
	got := gathered(t, m)
	for name, want := range map[string]float64{
		"cantle_throttled_requests_total{c,test,0,}":          float64(refused),
		"cantle_provisioned_request_units{c,test,0,}":         400,
		"cantle_documents{c,test,0,}":                         float64(110 - refused),
		"cantle_commands_total{insert,}":                      110,
		"cantle_command_duration_seconds{insert,}":            110,
		"cantle_command_failures_total{find,}":                1,
		"cantle_normalized_ru_consumption_percent{c,test,0,}": 100,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if ru := got["cantle_request_units_total{c,test,0,}"]; ru < sum || refused == 0 {
		t.Errorf("%v RU, at least %v were charged; %d refused", ru, sum, refused)
	}
	c.ok(`{shardCollection: "test.wide", key: {k: "hashed"}, numInitialChunks: 60, $db: "admin"}`)
	for i := range 130 {
		c.ok(fmt.Sprintf(`{create: "many%d"}`, i))
	}
	c.ok(`{insert: "wide", documents: [{k: 1}]}`)
	got = gathered(t, m)
	series, wide := 0, 0
	for name := range got {
		if coll, ok := strings.CutPrefix(name, "cantle_documents{"); ok {
			series++
			if strings.HasPrefix(coll, "wide,") {
				wide++
			}
		}
	}
	const collections, partitions = 100, 50 // that have series of their own
	if series > collections+partitions+1 || wide != partitions+1 {
		t.Errorf("%d series, %d of the wide collection", series, wide)
	}
	if _, ok := got["cantle_documents{$other,$other,$other,}"]; !ok {
		t.Error("the other collections have no series")
	}
}

// The metrics of sizes on disk are the sizes of the files: for each collection and index with series of its own, for
// all others together, and for the change log.
func TestMetricsOfSizes(t *testing.T) {
	store, err := pebblekv.Open(t.TempDir(), pebblekv.Options{ReserveBytes: -1, MemtableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w, _ := clockWorld(t, store)
	m := w.Status.Metrics()
	c := w.dial()
	rng := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		b := make([]byte, 20_000)
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
	c.ok(`{createIndexes: "big", indexes: [{key: {a: 1}, name: "a"}]}`)
	for i := range 200 {
		c.ok(fmt.Sprintf(`{insert: "big", documents: [{_id: %d, a: %q, b: %q}]}`, i, text()[:500], text()))
	}
	for i := range 150 {
		c.ok(fmt.Sprintf(`{insert: "small%d", documents: [{_id: 1, b: %q}, {_id: 2, b: %q}, {_id: 3, b: %q}, {_id: 4, b: %q}]}`, i, text(), text(), text(), text()))
	}
	for range 20 { // flushes the memory into files
		c.ok(fmt.Sprintf(`{insert: "big", documents: [{b: %q}]}`, text()))
	}
	c.ok(`{compact: "big", dryRun: true}`)
	got := gathered(t, m)
	for name, want := range map[string][2]float64{
		"cantle_collection_disk_bytes{big,test,}":        {2.5e6, 5e6},
		"cantle_index_disk_bytes{big,test,a,}":           {50e3, 400e3},
		"cantle_collection_disk_bytes{$other,$other,}":   {100e3, 4.5e6}, // estimated by blocks, which several collections share
		"cantle_index_disk_bytes{$other,$other,$other,}": {0, 50e3},
		"cantle_change_log_bytes{}":                      {8e6, 20e6},
		"cantle_kept_log_bytes{}":                        {0, 0},
	} {
		if n, ok := got[name]; !ok || n < want[0] || n > want[1] {
			t.Errorf("%s is %.0f", name, n)
		}
	}
	series := 0
	for name := range got {
		if strings.HasPrefix(name, "cantle_collection_disk_bytes") {
			series++
		}
	}
	if series != 101 {
		t.Errorf("%d collections have series of their own", series)
	}
	// A flush may happen in between.
	same := func(n int64) bool { return math.Abs(float64(n)/got["cantle_change_log_bytes{}"]-1) < 0.25 }
	if n := number(at(c.ok(`{serverStatus: 1, $db: "admin"}`), "storageEngine.changeLogBytes")); !same(n) {
		t.Errorf("serverStatus says %d", n)
	}
	if n := number(c.ok(`{collStats: "oplog.rs", $db: "local"}`).Get("storageSize")); !same(n) {
		t.Errorf("collStats says %d", n)
	}
}
