package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// statusBackup appends the section of serverStatus about backups: the policy, the progress of a running backup, the
// counts, the last backup and the last failure.
func (s *State) statusBackup(_ *command.Call, b *bson.Builder) {
	st := s.Backups.Status()
	if p := st.Policy; p.To != nil {
		b.BeginDoc("policy")
		b.String("to", p.To.Location())
		b.Double("intervalSeconds", p.Interval.Seconds())
		b.Double("logIntervalSeconds", p.LogInterval.Seconds())
		b.Double("retentionSeconds", p.Retention.Seconds())
		b.End()
	}
	b.Bool("running", st.Running)
	if st.Running {
		b.String("to", st.To)
		b.DateTime("since", st.Since.UnixMilli())
		b.String("phase", st.Progress.Phase)
		b.String("unit", st.Progress.Unit)
		b.Int64("done", st.Progress.Done)
		b.Int64("total", st.Progress.Total)
	}
	b.Int64("made", st.Made)
	b.Int64("logCopies", st.Shipped)
	b.Int64("failed", st.Failed)
	if !st.LastEnd.IsZero() {
		b.DateTime("lastBackup", st.LastEnd.UnixMilli())
	}
	if st.Covered != 0 {
		b.String("lastTo", st.LastTo)
		b.Timestamp("coveredTo", st.Covered.Seconds(), st.Covered.Increment())
	}
	if st.LastErr != "" {
		b.String("error", st.LastErr)
		b.DateTime("failedAt", st.FailedAt.UnixMilli())
	}
}

// Descriptions of the metrics of backups.
var (
	descBackups       = prometheus.NewDesc("cantle_backups_total", "Backups made.", nil, nil)
	descBackupsFailed = prometheus.NewDesc("cantle_backup_failures_total", "Backups and copies of the log that failed.", nil, nil)
	descBackupLogs    = prometheus.NewDesc("cantle_backup_log_copies_total", "Copies of the log of writes into the place of backups.", nil, nil)
	descBackupLast    = prometheus.NewDesc("cantle_backup_last_timestamp_seconds", "Time of the last backup.", nil, nil)
	descBackupEvery   = prometheus.NewDesc("cantle_backup_interval_seconds", "Interval of automatic backups.", nil, nil)
	descBackupCovered = prometheus.NewDesc("cantle_backup_covered_timestamp_seconds", "The newest moment that can be restored.", nil, nil)
)

// backups sends the Prometheus metrics of backups, such as the time of the last one, if the server can make backups.
func (m *Metrics) backups(out chan<- prometheus.Metric) {
	if m.s.Backups == nil {
		return
	}
	st := m.s.Backups.Status()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		out <- prometheus.MustNewConstMetric(d, kind, v)
	}
	send(descBackups, prometheus.CounterValue, float64(st.Made))
	send(descBackupsFailed, prometheus.CounterValue, float64(st.Failed))
	send(descBackupLogs, prometheus.CounterValue, float64(st.Shipped))
	if st.Policy.Automatic() {
		send(descBackupEvery, prometheus.GaugeValue, st.Policy.Interval.Seconds())
	}
	if !st.LastEnd.IsZero() {
		send(descBackupLast, prometheus.GaugeValue, float64(st.LastEnd.Unix()))
	}
	if st.Covered != 0 {
		send(descBackupCovered, prometheus.GaugeValue, float64(st.Covered.Seconds()))
	}
}
