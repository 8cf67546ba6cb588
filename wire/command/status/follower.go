package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// statusFollower appends the section of serverStatus about the server that this one follows: how far its writes are
// applied.
func statusFollower(c *command.Call, b *bson.Builder) {
	st := c.Server.Follower.Status()
	b.String("from", st.From)
	b.Timestamp("applied", st.Applied.Seconds(), st.Applied.Increment())
	b.Double("lagSeconds", st.Lag(c.Start).Seconds())
	b.Int64("writes", st.Writes)
	b.Int64("logCopies", st.Segments)
	b.Int64("failed", st.Failed)
	if !st.CaughtUp.IsZero() {
		b.DateTime("caughtUp", st.CaughtUp.UnixMilli())
	}
	if st.LastErr != "" {
		b.String("error", st.LastErr)
		b.DateTime("failedAt", st.FailedAt.UnixMilli())
	}
}

// Descriptions of the metrics of a server that follows another one.
var (
	descFollowLag    = prometheus.NewDesc("cantle_follower_lag_seconds", "Time by which the applied writes of the followed server are behind the clock; up to a minute while that server writes nothing.", nil, nil)
	descFollowWrites = prometheus.NewDesc("cantle_follower_writes_total", "Applied writes of the followed server.", nil, nil)
	descFollowFailed = prometheus.NewDesc("cantle_follower_failures_total", "Failed attempts to read the writes of the followed server.", nil, nil)
)

// follower sends the Prometheus metrics of a server that follows another one.
func (m *Metrics) follower(out chan<- prometheus.Metric) {
	if m.s.Follower == nil {
		return
	}
	st := m.s.Follower.Status()
	out <- prometheus.MustNewConstMetric(descFollowLag, prometheus.GaugeValue, st.Lag(m.s.Cluster.Now()).Seconds())
	out <- prometheus.MustNewConstMetric(descFollowWrites, prometheus.CounterValue, float64(st.Writes))
	out <- prometheus.MustNewConstMetric(descFollowFailed, prometheus.CounterValue, float64(st.Failed))
}
