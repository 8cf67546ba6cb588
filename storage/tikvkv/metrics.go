package tikvkv

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/tikv/client-go/v2/metrics"

	"github.com/cantledb/cantle/storage"
)

// nameMetrics sets the prefix of the names of the client's metrics. The prefix is global, and
// has to be set before any of the metrics is used.
var nameMetrics = sync.OnceFunc(func() { metrics.InitMetrics("cantle", Scheme) })

// Collectors returns the useful metrics of the client: requests, backoffs, errors, locks, regions, commits,
// connections.
func Collectors() []prometheus.Collector {
	nameMetrics()
	return []prometheus.Collector{
		metrics.TiKVSendReqHistogram, metrics.TiKVRPCErrorCounter, metrics.TiKVBackoffHistogram,
		metrics.TiKVLockResolverCounter, metrics.TiKVRegionErrorCounter, metrics.TiKVRegionCacheCounter, metrics.TiKVLoadRegionCounter,
		metrics.TiKVTxnRegionsNumHistogram, metrics.TiKVTwoPCTxnCounter, metrics.TiKVGRPCConnTransientFailureCounter, metrics.TiKVStoreLivenessGauge,
	}
}

// Figures implements storage.Remote.
func (s *store) Figures() []storage.Figure {
	requests, requestTime := total(metrics.TiKVSendReqHistogram)
	failures, _ := total(metrics.TiKVRPCErrorCounter)
	backoffs, backoffTime := total(metrics.TiKVBackoffHistogram)
	locks, _ := total(metrics.TiKVLockResolverCounter)
	regions, _ := total(metrics.TiKVRegionErrorCounter)
	loads, _ := total(metrics.TiKVLoadRegionCounter)
	away := int64(0)
	if s.CheckReachable() != nil {
		away = 1
	}
	return []storage.Figure{
		{Name: "away", Help: "1 while the cluster does not answer.", Value: away, Gauge: true},
		{Name: "requests", Help: "Requests to the cluster.", Value: requests},
		{Name: "requestMillis", Help: "Total time of requests to the cluster.", Value: requestTime},
		{Name: "requestFailures", Help: "Requests that were not answered.", Value: failures},
		{Name: "oracleTimes", Help: "Timestamps requested from the oracle, without those of commits.", Value: s.oracle.fetches.Load()},
		{Name: "oracleWaitMillis", Help: "Total wait for timestamps of the oracle.", Value: s.oracle.fetchTime.Load() / int64(time.Millisecond)},
		{Name: "backoffs", Help: "Pauses before retries.", Value: backoffs},
		{Name: "backoffMillis", Help: "Total time of pauses before retries.", Value: backoffTime},
		{Name: "lockActions", Help: "Actions on locks of other transactions.", Value: locks},
		{Name: "regionErrors", Help: "Requests that failed because a region or its leader had moved.", Value: regions},
		{Name: "regionLoads", Help: "Regions looked up at PD.", Value: loads},
		{Name: "commitsSettled", Help: "Unanswered commits whose outcome was queried.", Value: s.committer.settled.Load()},
		{Name: "commitsLate", Help: "Commits that took too long and were refused.", Value: s.committer.late.Load()},
		{Name: "rangesDestroyed", Help: "Dropped key ranges that were removed from the stores.", Value: s.dropped.destroyed.Load()},
		{Name: "logCacheBytes", Help: "Log records kept in memory for readers.", Value: s.log.bytes(), Gauge: true},
	}
}

// total returns the count of a collector over all its labels and, if it measures seconds, their
// sum in milliseconds.
func total(c prometheus.Collector) (n, millis int64) {
	out := make(chan prometheus.Metric, 16)
	go func() {
		defer close(out)
		c.Collect(out)
	}()
	seconds := 0.0
	for m := range out {
		var d dto.Metric
		if m.Write(&d) != nil {
			continue
		}
		n += int64(d.GetCounter().GetValue()) + int64(d.GetHistogram().GetSampleCount())
		seconds += d.GetHistogram().GetSampleSum()
	}
	return n, int64(seconds * 1000)
}
