package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/wire/command/status"
	"github.com/prometheus/client_golang/prometheus"
)

// gathered are the metrics by name and labels: name{v1,v2}.
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

// The metrics are those of getLastRequestStatistics and GetPartitions, and there
// are no more series than the bounds say.
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
