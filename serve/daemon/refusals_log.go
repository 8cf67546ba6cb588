package daemon

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/storage/keyspace"
)

const (
	// refusalSeconds is the interval, in seconds, at which partitions that refused requests are logged.
	refusalSeconds = 60
	// refusalLines is the maximum number of lines per interval, so that a busy server does not fill its log.
	refusalLines = 20
)

// logRefusals logs, for each partition that refused requests for lack of request units since the last call, a line with
// their number, the most refusals first. A line names the most expensive shard key value only with --log-values.
func (d *Daemon) logRefusals() {
	refused := d.history.TakeRefused()
	if len(refused) == 0 {
		return
	}
	places := slices.SortedFunc(maps.Keys(refused), func(a, b ratelimit.ShardID) int {
		return cmp.Or(cmp.Compare(refused[b], refused[a]), cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Shard, b.Shard))
	})
	catalog := d.catalog.Load().Peek()
	for i, at := range places {
		if i == refusalLines {
			d.log.Warn().Int("partitions", len(places)-i).Msg("further partitions refused requests for lack of request units")
			return
		}
		coll := catalog.ByID(keyspace.CollectionID(at.Collection))
		if coll == nil {
			continue // dropped in between
		}
		line := d.log.Warn().Str("collection", coll.Namespace.String()).Int("partition", at.Shard).Int64("refused", refused[at])
		pool := d.cluster.Budgets.Collection(at.Collection)
		for _, s := range pool.Stats(d.cluster.Now()) {
			if s.Shard == at.Shard && s.Limit > 0 {
				line.Float64("ruPerSecond", s.Limit.Float())
			}
		}
		if top := pool.Hot(at.Shard).ByRU.Top(1); d.cfg.LogValues && coll.Sharded() && len(top) > 0 {
			line.Str("top", balance.LogicalText(coll, top[0].Key))
		}
		line.Msg("a partition refused requests for lack of request units; cantle partitions and the console show its load")
	}
}
