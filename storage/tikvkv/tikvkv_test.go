package tikvkv

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/storagetest"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// fake returns a simulated TiKV cluster in this process, which lives as long as the test.
func fake(tb testing.TB) *tikvfake.Cluster {
	tb.Helper()
	nameMetrics() // Open would otherwise do it later, while goroutines of another test's client use the metrics
	c, err := tikvfake.New()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// openOn opens a store over a cluster.
func openOn(tb testing.TB, c *tikvfake.Cluster, o Options) *store {
	tb.Helper()
	s, err := tryOpen(tb, c, o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func tryOpen(tb testing.TB, c *tikvfake.Cluster, o Options) (*store, error) {
	tb.Helper()
	kv, err := c.Client()
	if err != nil {
		tb.Fatal(err)
	}
	if o.Keyspace == "" {
		o.Keyspace = "test"
	}
	s, err := OpenOn(tb.Context(), kv, o)
	if err != nil {
		kv.Close()
		return nil, err
	}
	return s.(*store), nil
}

func open(tb testing.TB) storage.Store { return openOn(tb, fake(tb), forConformance) }

// forConformance are options with which each Collect removes all dropped ranges.
var forConformance = Options{Clock: time.Now, Retention: time.Nanosecond}

func TestConformance(t *testing.T) { storagetest.Conformance(t, open) }

func TestNemesis(t *testing.T) {
	storagetest.Nemesis(t, open, storagetest.NemesisOptions{Rounds: 40})
}

// PD timestamps and storage timestamps convert into each other, and have the same order.
func TestTimes(t *testing.T) {
	last := storage.Timestamp(0)
	for _, milli := range []uint64{1, 999, 1000, 1001, 1763884800000, 1763884800999, 1763884801000} {
		for _, counter := range []uint64{0, 1, counterMax - 1, counterMax} {
			ts := milli<<counterBits | counter
			at := timestampOf(ts)
			if oracleOf(at) != ts || at <= last || at.Seconds() != uint32(milli/1000) {
				t.Errorf("%d at counter %d is %v, and back %d", milli, counter, at, oracleOf(at))
			}
			for back := range storage.Timestamp(recordMax) { // timestamps of the records of one commit, and those between two PD timestamps
				if got := oracleOf(at - back - 1); got != ts-1 {
					t.Fatalf("%v is %d, not the time before %d", at-back-1, got, ts)
				}
			}
			last = at
		}
	}
	if oracleOf(storage.MakeTimestamp(5, 1<<32-1)) != 5999<<counterBits|counterMax || oracleOf(0) != 0 || oracleOf(1) != 0 {
		t.Error("times that no oracle gives")
	}
	if subMillis(5<<counterBits, 6) != 0 || later(subMillis(9<<counterBits, 4), 4) != 9<<counterBits {
		t.Error("moved times")
	}
}
