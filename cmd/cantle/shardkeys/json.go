package shardkeys

import (
	"math"

	"github.com/cantledb/cantle/bson"
)

// JSON returns the ranking that Print prints, for programs: the keys, the best first, with the command that applies
// each and its drawbacks.
func (r *Ranking) JSON() bson.Raw {
	keys := bson.A{}
	for _, c := range r.list[:min(len(r.list), r.Top)] {
		one := bson.D{{"shardKey", c.name()}, {"score", math.Round(c.score)}, {"current", c.current}, {"distinctValues", c.distinct},
			{"largestShare", c.spread.largest()}, {"fullestPartition", c.fullest(&c.spread, r.Partitions)}}
		if c.newest.docs > 0 {
			one = append(one, bson.E{"fullestPartitionRecent", c.fullest(&c.newest, r.Partitions)})
		}
		if c.targeted >= 0 {
			one = append(one, bson.E{"targetedShare", c.targeted}, bson.E{"ru", c.ru})
		}
		if reach := c.reach(); !math.IsInf(reach, 0) {
			one = append(one, bson.E{"maxRUPerSecond", reach})
		}
		drawbacks := bson.A{}
		for _, text := range r.objections(c) {
			drawbacks = append(drawbacks, text)
		}
		keys = append(keys, append(one, bson.E{"drawbacks", drawbacks}, bson.E{"command", r.command(c)}))
	}
	return bson.D{{"collection", r.DB + "." + r.Coll}, {"documents", r.Docs.Stored}, {"bytes", r.Docs.StoredBytes}, {"documentsRead", r.Docs.Seen},
		{"partitions", r.Partitions}, {"recordedRequests", len(r.Requests)}, {"keys", keys}}.Doc()
}
