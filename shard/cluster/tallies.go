package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
)

// tallies returns operators that replace the scans of a pipeline that needs only the number of all documents, as
// countDocuments({}) does: the counters hold these numbers. It returns nil where scans must count: at a time in the
// past; in a transaction, which has writes of its own; with a hint; beside other reads, which use one state; with a
// Trace, which shows the scan; and if the counters are not sufficient, see Board.Exact, or the shard map has changed.
// A sort is executed, since it may reject documents (parallel arrays). The state that is counted is the newest one,
// as late as the command's view or later.
func (x *opener) tallies(coll *catalog.Collection, f agg.Front, hint bson.Value, shards []*shard.Descriptor) (map[shard.ID]*exec.Tally, error) {
	if !f.Tally || f.Filter != nil || f.Sort != nil || f.Skip > 0 || f.Limit > 0 || !hint.IsMissing() ||
		!x.singleRead || x.trace != nil || x.o.Txn != nil || x.o.At != 0 || x.v.rewound != nil || len(shards) != len(coll.Map.Shards()) {
		return nil, nil
	}
	ctx := x.o.Env.Context()
	docs, ok, err := x.c.tally.Exact(ctx, coll.ID, coll.Map, func() (storage.Timestamp, error) {
		newest, err := x.c.store.Snapshot(ctx, 0)
		if err != nil {
			return 0, err
		}
		defer newest.Close()
		x.o.ReadTime = max(x.o.ReadTime, newest.ReadTimestamp())
		return newest.ReadTimestamp(), nil
	})
	if !ok || err != nil {
		return nil, err
	}
	// If the catalog has another shard map by now, the documents were counted by the wrong shards, and a scan is
	// needed.
	if now := x.c.catalog.Peek().ByID(coll.ID); now == nil || now.Map != coll.Map {
		return nil, nil
	}
	out := make(map[shard.ID]*exec.Tally, len(docs))
	for i, d := range coll.Map.Shards() {
		out[d.ID] = exec.NewTally(int(d.ID), docs[i])
	}
	return out, nil
}
