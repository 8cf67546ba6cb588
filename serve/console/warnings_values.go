package console

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
)

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
