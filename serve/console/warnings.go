package console

import (
	"fmt"
	"slices"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/serve/certificates"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage"
)

// warning is a problem that an operator should look at.
type warning struct {
	Kind string `json:"kind"` // disk, certificate, throttled, hot, request, account or value
	NS   string `json:"ns"`
	Text string `json:"text"`
	// View is the view of the page that shows the reason.
	View      string `json:"view"`
	Partition int    `json:"partition"` // -1 for none
}

// Thresholds and limits of warnings.
const (
	warnedSeconds     = 60
	warnedShapes      = 50
	warnedCollections = 20
	hotShare          = 0.5 // of its collection's RU: a partition with more is hot
	hotLeast          = 10  // RU/s: a partition with no more is not hot
	largePart         = 0.8 // share of the maximum size of a shard key value: a collection with a partition this large is examined
)

// warnings returns the present problems of the server and its collections, as far as the user may see them.
func warnings(q *query) (any, error) {
	out := []warning{}
	if q.mayLoad() == nil {
		out = append(out, q.machine()...)
		out = append(out, q.hotPartitions()...)
	}
	if reply, err := q.runCommand("admin", bson.D{{"customAction", "GetRequestReport"}, {"top", warnedShapes}}); err == nil {
		list, _ := reply.Get("requests").Array()
		for v := range list.Values() {
			d, _ := v.Doc()
			ns, _ := d.Get("ns").Str()
			command, _ := d.Get("command").Str()
			filter, _ := d.Get("filter").Str()
			for _, text := range texts(d.Get("warnings")) {
				out = append(out, warning{Kind: "request", NS: ns, Text: command + " " + filter + " " + text, View: "requests", Partition: -1})
			}
		}
		out = append(out, refusals(reply)...)
	}
	out = append(out, q.largeValues()...)
	return struct {
		Warnings []warning `json:"warnings"`
	}{out}, nil
}

// refusals returns a warning for each feature that clients used here and that an account of Azure Cosmos DB would
// refuse.
func refusals(report bson.Raw) (out []warning) {
	account, _ := report.Get("account").Doc()
	version, _ := account.Get("version").Str()
	list, _ := account.Get("refuses").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		name, _ := d.Get("name").Str()
		app, _ := d.Get("appName").Str()
		count, _ := d.Get("count").AsInt64()
		if app != "" {
			app = " by " + app
		}
		out = append(out, warning{Kind: "account", View: "requests", Partition: -1,
			Text: fmt.Sprintf("An Azure Cosmos DB %s account would refuse %s: used %d times%s.", version, name, count, app)})
	}
	return out
}

// machine returns warnings about disk space and the certificate.
func (q *query) machine() (out []warning) {
	cl := q.Server.Cluster
	m := cl.StoreMetrics()
	free, size := float64(m.DiskFree)/(1<<30), float64(m.DiskTotal)/(1<<30)
	switch {
	case cl.DiskFull():
		out = append(out, warning{Kind: "disk", View: "collections", Partition: -1,
			Text: fmt.Sprintf("The disk is almost full (%.1f of %.0f GB free): writes are refused until there is more free space; deletes and drops work.", free, size)})
	case m.DiskTotal > 0 && m.DiskFree < storage.DiskLow(m.DiskTotal):
		out = append(out, warning{Kind: "disk", View: "collections", Partition: -1,
			Text: fmt.Sprintf("Only %.1f of %.0f GB of the disk are free: free some space before writes are refused.", free, size)})
	}
	if q.Certificate == nil {
		return out
	}
	if cert := q.Certificate(); cert != nil {
		left, day := time.Until(cert.NotAfter), cert.NotAfter.UTC().Format(time.DateOnly)
		switch {
		case left <= 0:
			out = append(out, warning{Kind: "certificate", View: "operations", Partition: -1,
				Text: fmt.Sprintf("The server's certificate expired on %s and clients reject it: replace it and send the server SIGHUP.", day)})
		case left < certificates.ExpiryWarning:
			out = append(out, warning{Kind: "certificate", View: "operations", Partition: -1,
				Text: fmt.Sprintf("The server's certificate expires on %s, in %d days: replace it and send the server SIGHUP.", day, int(left.Hours()/24))})
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

// hotPartitions returns warnings about present partitions that refused requests in the last minute, or that did in it
// more than hotShare of their collection's work, twice the average and hotLeast. It returns nil if it cannot read
// them.
func (q *query) hotPartitions() (out []warning) {
	now := q.History.Second()
	heats, _, err := q.History.Heats(q.Context(), history.Seconds, "", now-warnedSeconds, now, history.RU, history.Refused)
	if err != nil {
		return nil
	}
	ru, refused := heats[0], heats[1]
	all, parts := map[string]float64{}, map[string]int{}
	sums := make([]float64, len(ru.Rows))
	for i := range ru.Rows {
		r := &ru.Rows[i]
		sums[i] = sum(r.Cells)
		all[r.Part.Namespace] += sums[i]
		if r.Until == 0 {
			parts[r.Part.Namespace]++
		}
	}
	for i := range refused.Rows {
		r := &refused.Rows[i]
		if n := sum(r.Cells); n > 0 && r.Until == 0 {
			out = append(out, warning{Kind: "throttled", NS: r.Part.Namespace, View: "heat", Partition: r.Part.Place.Shard,
				Text: fmt.Sprintf("partition %d refused about %.0f requests in the last minute: its request units were used up", r.Part.Place.Shard, n)})
		}
	}
	for i := range ru.Rows {
		r := &ru.Rows[i]
		ns := r.Part.Namespace
		share := sums[i] / max(1, all[ns])
		warned := slices.ContainsFunc(out, func(w warning) bool { return w.NS == ns && w.Partition == r.Part.Place.Shard })
		if coll := q.partitionsOf(r.Part); !warned && r.Until == 0 && coll > 1 && share > hotShare && share > 2/float64(coll) && sums[i] > hotLeast*warnedSeconds {
			out = append(out, warning{Kind: "hot", NS: ns, View: "heat", Partition: r.Part.Place.Shard,
				Text: fmt.Sprintf("partition %d has %.0f %% of the load of %d partitions", r.Part.Place.Shard, 100*share, coll)})
		}
	}
	return out
}

// sum returns the sum of cells of one second each.
func sum(cells []byte) (all float64) {
	for _, c := range cells {
		all += history.Value(c)
	}
	return all
}

// partitionsOf returns the present number of partitions of the collection to which the partition p belongs, 0 if the
// collection was dropped or has no shard map.
func (q *query) partitionsOf(p *history.Part) int {
	for _, coll := range q.Server.Cluster.Catalog().Collections("") {
		if uint64(coll.ID) == p.Place.Collection && coll.Map != nil {
			return coll.Map.Len()
		}
	}
	return 0
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
			out = append(out, warning{Kind: "value", NS: coll.Namespace.String(), Text: text, View: "partitions", Partition: -1})
		}
	}
	return out
}
