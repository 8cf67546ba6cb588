package status

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Descriptions of the metrics of sizes on disk.
var (
	descChangeLog  = prometheus.NewDesc("cantle_change_log_bytes", "Part of the store's files that the change log takes.", nil, nil)
	descKeptLog    = prometheus.NewDesc("cantle_kept_log_bytes", "Write-ahead logs that are kept for the next backup, not included in the files of the store.", nil, nil)
	descCollection = prometheus.NewDesc("cantle_collection_disk_bytes", "Part of the store's files that the documents of a collection take.", []string{"database", "collection"}, nil)
	descIndex      = prometheus.NewDesc("cantle_index_disk_bytes", "Part of the store's files that an index takes.", []string{"database", "collection", "index"}, nil)
)

// sizes sends the Prometheus metrics of sizes on disk: of each of the given collections and their indexes, and if
// others is true, of all other collections together. If the store is remote, it sends none.
func (m *Metrics) sizes(out chan<- prometheus.Metric, colls []*catalog.Collection, others bool) {
	store, ok := m.s.Cluster.Compactor()
	if !ok {
		return
	}
	send := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	var records, indexes uint64
	for _, coll := range colls {
		ns := coll.Namespace
		z, _ := m.s.Cluster.DiskSizes(context.Background(), coll)
		records += z.Documents
		send(descCollection, z.Documents, ns.DB, ns.Coll)
		for _, ix := range z.Indexes {
			indexes += ix.Bytes
			send(descIndex, ix.Bytes, ns.DB, ns.Coll, ix.Name)
		}
	}
	if others {
		measure := func(r storage.Range) uint64 {
			n, err := store.RangeBytes(context.Background(), r)
			if err != nil {
				return 0 // the store is being closed, or damaged
			}
			return n
		}
		send(descCollection, remainder(measure(keyspace.AllRecords()), records), otherLabel, otherLabel)
		send(descIndex, remainder(measure(keyspace.AllIndexes()), indexes), otherLabel, otherLabel, otherLabel)
	}
}

// remainder returns all minus part; 0 if part is larger, because the sizes were measured at different times.
func remainder(all, part uint64) uint64 { return all - min(all, part) }
