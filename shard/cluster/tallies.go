package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
)

// exactCounts returns the number of documents of each shard of a collection, from the counters, and the newest state of
// the store, at which they are exact. The caller closes the state. The counts are nil, and there is no state, where
// scans must count: at a time in the past; in a transaction, which has writes of its own; and if the counters are not
// sufficient, see Board.Exact, or the collection has changed. The state is as late as the view v or later.
// Errors: the errors of the store.
func (c *Cluster) exactCounts(o *Op, v *view, coll *catalog.Collection) (counts map[shard.ID]int64, state storage.Reader, err error) {
	if !v.readsNewest(o) {
		return nil, nil, nil
	}
	ctx := o.Env.Context()
	docs, ok, err := c.tally.Exact(ctx, coll.ID, coll.Map, func() (at storage.Timestamp, err error) {
		if state, err = c.store.Snapshot(ctx, 0); err != nil {
			return 0, err
		}
		return state.ReadTimestamp(), nil
	})
	// If the catalog has another shard map by now, the documents were counted by the wrong shards.
	now := c.catalog.Peek().ByID(coll.ID)
	if !ok || err != nil || now == nil || now.Map != coll.Map {
		if state != nil {
			state.Close()
		}
		return nil, nil, err
	}
	o.ReadTime = max(o.ReadTime, state.ReadTimestamp())
	counts = make(map[shard.ID]int64, len(docs))
	for i, d := range coll.Map.Shards() {
		counts[d.ID] = docs[i]
	}
	return counts, state, nil
}

// tallies returns the number of documents of each shard, from the counters, for a pipeline that needs only the number of
// all documents, as countDocuments({}) does. It returns nil where scans must count: with a hint; beside other reads,
// which use one state; and where exactCounts has no counts. A sort is executed, since it may reject documents (parallel
// arrays).
func (x *opener) tallies(coll *catalog.Collection, f agg.Front, hint bson.Value, shards []*shard.Descriptor) (map[shard.ID]int64, error) {
	if !f.Tally || f.Filter != nil || f.Sort != nil || f.Skip > 0 || f.Limit > 0 || !hint.IsMissing() ||
		!x.singleRead || len(shards) != coll.Map.Len() {
		return nil, nil
	}
	counts, state, err := x.c.exactCounts(x.o, x.v, coll)
	if counts != nil {
		state.Close()
	}
	return counts, err
}

// countedSkipMin is the smallest skip for which the counters of the shards are consulted: counting fewer keys takes less
// time than to wait for the writers whose commits the counters do not contain yet.
const countedSkipMin = 1000

// skipCounts returns the number of documents of each shard, from the counters, if a plan drops so many of the documents
// of a whole collection that reading can be avoided; else nil. It moves the view v to the state in which the counts are
// exact. Errors: the errors of the store.
func (c *Cluster) skipCounts(o *Op, v *view, coll *catalog.Collection, sol *plan.Solution, shards []*shard.Descriptor) (map[shard.ID]int64, error) {
	skip := sol.SkippedRecords()
	if skip < countedSkipMin || len(shards) != coll.Map.Len() || len(shards) > 1 && sol.Pattern != nil {
		return nil, nil
	}
	// Each shard is skipped as a whole, or begins with a part that is larger than what is left.
	first := c.tally.Of(coll.ID).Shard(shards[0].ID).Get().Docs
	if skip <= first/2 {
		return nil, nil
	}
	counts, state, err := c.exactCounts(o, v, coll)
	if counts == nil {
		return nil, err
	}
	if c.catalog.Peek().ByID(coll.ID) != coll || state.ReadTimestamp() < v.layoutAt {
		state.Close()
		return nil, nil
	}
	v.reader.Close()
	v.reader, v.layoutAt = state, state.ReadTimestamp()
	return counts, nil
}
