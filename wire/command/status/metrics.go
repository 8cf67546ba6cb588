package status

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// Metrics is a Prometheus collector of the server's state, such as request units and throttles of partitions,
// commands and their latencies, connections, the store and its backups. The number of time series is bounded, even if
// clients create many collections.
type Metrics struct {
	s       *State
	seconds *prometheus.HistogramVec
}

const (
	// metricCollectionsMax is the maximum number of collections with time series of their own: those with the highest
	// consumption of request units. All other collections share one series. metricPartitionsMax is the same for the
	// partitions of a collection.
	metricCollectionsMax = 100
	metricPartitionsMax  = 50
	// otherLabel is the label of all collections or partitions that share a series. No collection has this name,
	// because names cannot contain a dollar sign.
	otherLabel = "$other"
)

// Metrics returns the Prometheus collector, and starts measuring the durations of commands for it. It must be called
// once, before the server serves.
func (s *State) Metrics() *Metrics {
	m := &Metrics{s: s, seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "cantle_command_duration_seconds", Help: "Time from a command's arrival to its reply.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
	}, []string{"command"})}
	s.seconds = m.seconds
	return m
}

// Descriptions of the metrics that are computed at each collection.
var (
	ofPartition = []string{"database", "collection", "partition"}

	descUnits      = prometheus.NewDesc("cantle_request_units_total", "Request units charged.", ofPartition, nil)
	descThrottled  = prometheus.NewDesc("cantle_throttled_requests_total", "Requests refused or delayed because request units were used up.", ofPartition, nil)
	descRunaways   = prometheus.NewDesc("cantle_runaway_commands_total", "Commands that reached their limit of request units, by what happened to them.", []string{"action"}, nil)
	descPlanned    = prometheus.NewDesc("cantle_planned_throughput_changes_total", "Changes of RU/s that prepared throughput and schedules have made.", nil, nil)
	descRefused    = prometheus.NewDesc("cantle_refused_statements_total", "Documents and statements refused with error 16500, by the limit that refused them, as in errInfo.throttle.limit.", []string{"limit"}, nil)
	descShare      = prometheus.NewDesc("cantle_provisioned_request_units", "Provisioned request units per second; absent if unlimited.", ofPartition, nil)
	descNormalized = prometheus.NewDesc("cantle_normalized_ru_consumption_percent", "Busiest second of the last minute, in percent of the provisioned request units.", ofPartition, nil)
	descOperators  = prometheus.NewDesc("cantle_operator_request_units_total", "Request units charged to the allowance of operators; no partition includes them.", nil, nil)
	descWaiting    = prometheus.NewDesc("cantle_waiting_requests", "Requests waiting for request units (server-side retry).", ofPartition, nil)
	descDocuments  = prometheus.NewDesc("cantle_documents", "Documents stored.", ofPartition, nil)
	descBytes      = prometheus.NewDesc("cantle_document_bytes", "Bytes of the documents stored.", ofPartition, nil)

	descCommands    = prometheus.NewDesc("cantle_commands_total", "Commands answered.", []string{"command"}, nil)
	descFailures    = prometheus.NewDesc("cantle_command_failures_total", "Commands answered with an error.", []string{"command"}, nil)
	descDefects     = prometheus.NewDesc("cantle_defects_total", "Panics (kind panic) and unexpected errors (kind error), each a bug of the server.", []string{"kind"}, nil)
	descConns       = prometheus.NewDesc("cantle_connections", "Open connections.", nil, nil)
	descConnsMade   = prometheus.NewDesc("cantle_connections_accepted_total", "Connections accepted.", nil, nil)
	descReceived    = prometheus.NewDesc("cantle_network_received_bytes_total", "Bytes of requests.", nil, nil)
	descSent        = prometheus.NewDesc("cantle_network_sent_bytes_total", "Bytes of replies.", nil, nil)
	descDisk        = prometheus.NewDesc("cantle_store_disk_bytes", "Files of the store.", nil, nil)
	descDiskFree    = prometheus.NewDesc("cantle_disk_free_bytes", "Free space of the disk of the store.", nil, nil)
	descDiskTotal   = prometheus.NewDesc("cantle_disk_bytes", "Size of the disk of the store.", nil, nil)
	descReserve     = prometheus.NewDesc("cantle_disk_reserve_bytes", "Free disk space below which writes that add data are refused.", nil, nil)
	descBallast     = prometheus.NewDesc("cantle_disk_ballast_bytes", "Size of the ballast file, which is deleted when the reserve is used up so that deletes and drops can free space; missing ballast counts towards the reserve.", nil, nil)
	descRefuses     = prometheus.NewDesc("cantle_store_refuses_writes", "1 while writes are refused because the disk is almost full.", nil, nil)
	descCommits     = prometheus.NewDesc("cantle_store_commits_total", "Writing transactions of the store.", nil, nil)
	descConflicts   = prometheus.NewDesc("cantle_store_conflicts_total", "Transactions of the store that failed with a write conflict.", nil, nil)
	descSyncs       = prometheus.NewDesc("cantle_store_syncs_total", "Syncs of the store's log, each for a group of commits.", nil, nil)
	descSyncSeconds = prometheus.NewDesc("cantle_store_sync_seconds_total", "Total time of the syncs of the store's log.", nil, nil)
	descSlowSyncs   = prometheus.NewDesc("cantle_store_slow_syncs_total", "Syncs of the store's log that took more than 100 ms.", nil, nil)
	descStalls      = prometheus.NewDesc("cantle_store_write_stalls_total", "Write stalls of the store.", nil, nil)
	descCacheHits   = prometheus.NewDesc("cantle_store_cache_hits_total", "Blocks found in the cache.", nil, nil)
	descCacheMisses = prometheus.NewDesc("cantle_store_cache_misses_total", "Blocks read from files.", nil, nil)
	descInfo        = prometheus.NewDesc("cantle_info", "Version of the program and of the price list.", []string{"version", "prices"}, nil)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descUnits, descThrottled, descRefused, descRunaways, descPlanned, descShare, descNormalized, descOperators, descWaiting, descDocuments, descBytes,
		descCommands, descFailures, descDefects, descConns, descConnsMade, descReceived, descSent, descDisk, descChangeLog, descKeptLog, descCollection, descIndex, descDiskFree, descDiskTotal, descReserve, descBallast, descRefuses, descCommits, descConflicts,
		descSyncs, descSyncSeconds, descSlowSyncs, descStalls, descCacheHits, descCacheMisses, descInfo,
		descBackups, descBackupsFailed, descBackupLogs, descBackupEvery, descBackupLast, descBackupCovered,
		descFollowLag, descFollowWrites, descFollowFailed} {
		out <- d
	}
	m.seconds.Describe(out)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.partitions(out)
	m.backups(out)
	m.follower(out)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	s := m.s
	for _, d := range s.Table() {
		if n := d.Counter.Total.Load(); n > 0 {
			count(descCommands, n, d.Name)
			count(descFailures, d.Counter.Failed.Load(), d.Name)
		}
	}
	panics, unforeseen := s.Defects.Counts()
	count(descDefects, panics, "panic")
	count(descDefects, unforeseen, "error")
	m.seconds.Collect(out)
	if s.Connections != nil {
		st := s.Connections()
		gauge(descConns, float64(st.Current))
		count(descConnsMade, st.Total)
	}
	count(descReceived, s.Stats.BytesIn.Load())
	count(descSent, s.Stats.BytesOut.Load())
	for i, l := range ratelimit.Limits {
		out <- prometheus.MustNewConstMetric(descRefused, prometheus.CounterValue, float64(s.Stats.Refused[i].Load()), string(l))
	}
	for a := range ratelimit.RunawayActions {
		out <- prometheus.MustNewConstMetric(descRunaways, prometheus.CounterValue, float64(s.Stats.Runaways[a].Load()), a.String())
	}
	out <- prometheus.MustNewConstMetric(descPlanned, prometheus.CounterValue, float64(s.Jobs.PlannedChanges()))
	out <- prometheus.MustNewConstMetric(descOperators, prometheus.CounterValue, s.Cluster.Budgets.OperatorCharge().Float())
	gauge(descInfo, 1, s.Version, s.Cluster.Budgets.PriceList().String())
	x := s.Cluster.StoreMetrics()
	gauge(descDisk, float64(x.DiskBytes))
	gauge(descChangeLog, float64(x.LogBytes))
	gauge(descKeptLog, float64(x.KeptBytes))
	if x.DiskTotal > 0 {
		gauge(descDiskFree, float64(x.DiskFree))
		gauge(descDiskTotal, float64(x.DiskTotal))
		gauge(descReserve, float64(x.DiskReserve))
		gauge(descBallast, float64(x.DiskBallast))
	}
	refuses := 0.0
	if s.Cluster.DiskFull() {
		refuses = 1
	}
	gauge(descRefuses, refuses)
	count(descCommits, x.Commits)
	count(descConflicts, x.Conflicts)
	count(descSyncs, x.Syncs)
	out <- prometheus.MustNewConstMetric(descSyncSeconds, prometheus.CounterValue, x.SyncTime.Seconds())
	count(descSlowSyncs, x.SlowSyncs)
	count(descStalls, x.Stalls)
	count(descCacheHits, x.CacheHits)
	count(descCacheMisses, x.CacheMisses)
	if remote := s.Cluster.Remote(); remote != nil {
		for _, f := range remote.Figures() {
			if f.Gauge {
				gauge(descOf(f, ""), float64(f.Value))
			} else {
				count(descOf(f, "_total"), f.Value)
			}
		}
	}
}

// descOf returns the description of a figure of a remote store.
func descOf(f storage.Figure, end string) *prometheus.Desc {
	name := "cantle_store_remote_"
	for _, letter := range f.Name {
		if letter >= 'A' && letter <= 'Z' {
			name += "_"
		}
		name += strings.ToLower(string(letter))
	}
	return prometheus.NewDesc(name+end, f.Help, nil, nil)
}

// partitionMetrics holds the numbers of one time series: those of a partition, or the sums of several.
type partitionMetrics struct {
	ratelimit.BucketStats
	docs, bytes int64
}

// add adds the numbers of a partition to the series that it shares with others; of the normalized consumption, a
// percentage, it takes the larger one.
func (p *partitionMetrics) add(q partitionMetrics) {
	p.Total += q.Total
	p.Throttled += q.Throttled
	p.Limit += q.Limit
	p.Normalized = max(p.Normalized, q.Normalized)
	p.Waiting += q.Waiting
	p.docs += q.docs
	p.bytes += q.bytes
}

// partitions sends the Prometheus metrics of collections and partitions. Those with the highest consumption of
// request units have a series of their own, up to metricCollectionsMax and metricPartitionsMax.
func (m *Metrics) partitions(out chan<- prometheus.Metric) {
	type used struct {
		coll  *catalog.Collection
		parts []partitionMetrics
		total ratelimit.MicroRU
	}
	now := m.s.Cluster.Now()
	var all []used
	for _, coll := range m.s.Cluster.Catalog().Collections("") {
		if coll.IsView() || coll.Map == nil {
			continue
		}
		u := used{coll: coll}
		counts := m.s.Cluster.Counts(coll.ID)
		stats := map[int]ratelimit.BucketStats{}
		for _, b := range m.s.Cluster.Budgets.Collection(uint64(coll.ID)).Stats(now) {
			stats[b.Shard] = b
		}
		for _, d := range coll.Map.Shards() {
			n := counts.Shard(d.ID).Get()
			p := partitionMetrics{stats[int(d.ID)], n.Docs, n.Bytes}
			p.Shard = int(d.ID)
			u.parts = append(u.parts, p)
			u.total += p.Total
		}
		all = append(all, u)
	}
	slices.SortStableFunc(all, func(a, b used) int { return cmp.Compare(b.total, a.total) })
	var own []*catalog.Collection
	for _, u := range all[:min(len(all), metricCollectionsMax)] {
		own = append(own, u.coll)
	}
	m.sizes(out, own, len(all) > metricCollectionsMax)
	var others partitionMetrics
	for i, u := range all {
		if i >= metricCollectionsMax {
			for _, p := range u.parts {
				others.add(p)
			}
			continue
		}
		slices.SortStableFunc(u.parts, func(a, b partitionMetrics) int { return cmp.Compare(b.Total, a.Total) })
		var rest partitionMetrics
		for j, p := range u.parts {
			if j >= metricPartitionsMax {
				rest.add(p)
				continue
			}
			p.send(out, u.coll.Namespace.DB, u.coll.Namespace.Coll, strconv.Itoa(p.Shard))
		}
		if len(u.parts) > metricPartitionsMax {
			rest.send(out, u.coll.Namespace.DB, u.coll.Namespace.Coll, otherLabel)
		}
	}
	if len(all) > metricCollectionsMax {
		others.send(out, otherLabel, otherLabel, otherLabel)
	}
}

// send sends the metrics of one series.
func (p *partitionMetrics) send(out chan<- prometheus.Metric, labels ...string) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	send(descUnits, prometheus.CounterValue, float64(p.Total)/float64(ratelimit.RU))
	send(descThrottled, prometheus.CounterValue, float64(p.Throttled))
	if p.Limit > 0 {
		send(descShare, prometheus.GaugeValue, float64(p.Limit)/float64(ratelimit.RU))
	}
	send(descNormalized, prometheus.GaugeValue, float64(p.Normalized))
	send(descWaiting, prometheus.GaugeValue, float64(p.Waiting))
	send(descDocuments, prometheus.GaugeValue, float64(p.docs))
	send(descBytes, prometheus.GaugeValue, float64(p.bytes))
}

// observeDuration observes the duration of a command, if Metrics was called.
func (s *State) observeDuration(name string, took time.Duration) {
	if s.seconds != nil {
		s.seconds.WithLabelValues(name).Observe(took.Seconds())
	}
}
