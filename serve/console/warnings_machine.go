package console

import (
	"fmt"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/serve/certificates"
	"github.com/cantledb/cantle/storage"
)

// machine returns warnings about disk space and the certificate.
func (q *query) machine() (out []warning) {
	cl := q.Server.Cluster
	m := cl.StoreMetrics()
	free, size := float64(m.DiskFree)/(1<<30), float64(m.DiskTotal)/(1<<30)
	disk := warning{ID: "disk", Kind: "disk", View: "collections", Partition: -1, Active: true, Next: []step{}, weight: weightMachine}
	switch {
	case cl.DiskFull():
		disk.Text = fmt.Sprintf("The disk is almost full (%.1f of %.0f GB free): writes are refused until there is more free space; deletes and drops work.", free, size)
		out = append(out, disk)
	case m.DiskTotal > 0 && m.DiskFree < storage.DiskLow(m.DiskTotal):
		disk.Text = fmt.Sprintf("Only %.1f of %.0f GB of the disk are free: free some space before writes are refused.", free, size)
		out = append(out, disk)
	}
	if q.Certificate == nil {
		return out
	}
	if cert := q.Certificate(); cert != nil {
		left, day := time.Until(cert.NotAfter), cert.NotAfter.UTC().Format(time.DateOnly)
		w := warning{ID: "certificate", Kind: "certificate", View: "operations", Partition: -1, Active: true, Next: []step{}, weight: weightUneven}
		switch {
		case left <= 0:
			w.Text = fmt.Sprintf("The server's certificate expired on %s and clients reject it: replace it and send the server SIGHUP.", day)
			w.weight = weightMachine
			out = append(out, w)
		case left < certificates.ExpiryWarning:
			w.Text = fmt.Sprintf("The server's certificate expires on %s, in %d days: replace it and send the server SIGHUP.", day, int(left.Hours()/24))
			out = append(out, w)
		}
	}
	return out
}

// texts returns the strings of an array.
func texts(v bson.Value) (out []string) {
	list, _ := v.Array()
	for v := range list.Values() {
		s, _ := v.Str()
		out = append(out, s)
	}
	return out
}

// mayHoldLarge reports whether a partition of the collection is so large that one value of the shard key may be near
// its maximum size. Only then is the command GetPartitions worth its cost: with peers it takes a call to all of them.
func (q *query) mayHoldLarge(coll *catalog.Collection) bool {
	limit := q.Server.Cluster.LogicalKeyBytes
	if coll.Map == nil || limit <= 0 {
		return false
	}
	counts := q.Server.Cluster.Counts(coll.ID)
	for _, d := range coll.Map.Shards() {
		if counts.Shard(d.ID).Get().Bytes >= int64(largePart*float64(limit)) {
			return true
		}
	}
	return false
}

// largeValues returns warnings about values of the shard key whose documents come near the maximum size of one value,
// in at most warnedCollections collections with provisioned throughput.
func (q *query) largeValues() (out []warning) {
	asked := 0
	for _, coll := range q.Server.Cluster.Catalog().Collections("") {
		if coll.Throughput.RU == 0 || asked >= warnedCollections || !q.mayHoldLarge(coll) {
			continue
		}
		asked++
		reply, err := q.runCommand(coll.Namespace.DB, bson.D{{"customAction", "GetPartitions"}, {"collection", coll.Namespace.Coll}, {"top", 1}})
		if err != nil {
			continue // not allowed for this user
		}
		for _, text := range texts(reply.Get("warnings")) {
			ns := coll.Namespace.String()
			out = append(out, warning{ID: "value " + ns, Kind: "value", NS: ns, Text: text, View: "partitions", Partition: -1, Active: true, weight: weightValue,
				Next: []step{{"Advise a shard key", "whatif", "advise"}}})
		}
	}
	return out
}
