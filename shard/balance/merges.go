package balance

import (
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/planned"
	"github.com/cantledb/cantle/shard/tally"
)

// LoadsOf returns the present loads of the shards of a collection: documents, bytes, and RU/s of the last minute;
// with the provisioned RU/s and the required boundaries. p are the planned changes of these RU/s (jobs.PlannedFor).
func LoadsOf(counts *tally.Collection, budgets *ratelimit.Budgets, c *catalog.Collection, p *catalog.Planned, now time.Time) Loads {
	l := Loads{Shards: map[shard.ID]Load{}, Bounds: c.ZoneBounds()}
	t := jobs.Provisioned(c.Throughput)
	if t.Mode == ratelimit.Unlimited { // so that the collection gets one shard on every partition of its database
		t = budgets.Collection(uint64(c.ID)).SharedThroughput()
	}
	if t.Mode == ratelimit.Manual || t.Mode == ratelimit.Autoscale {
		l.RUs = max(t.RUs, planned.Needed(p, now))
	}
	for _, d := range c.Map.Shards() {
		n := counts.Shard(d.ID).Get()
		l.Shards[d.ID] = Load{Docs: n.Docs, Bytes: n.Bytes}
	}
	for _, s := range budgets.Collection(uint64(c.ID)).Stats(now) {
		if n, ok := l.Shards[shard.ID(s.Shard)]; ok {
			n.RUs = int64((s.LastMinute+s.PeersSpent)/ratelimit.RU) / 60
			l.Shards[shard.ID(s.Shard)] = n
		}
	}
	return l
}

// PlanMerges returns all merges that the policy allows, in order, until no pair is left, and the shard map and loads
// that result from them. It changes nothing. Actions may name shards that earlier actions create.
func PlanMerges(m *shard.Map, l Loads, p Policy) (plan []Action, after *shard.Map, loads Loads, err error) {
	loads = Loads{RUs: l.RUs, Shards: map[shard.ID]Load{}, Bounds: l.Bounds}
	for id, n := range l.Shards {
		loads.Shards[id] = n
	}
	for {
		round := merges(m, loads, p)
		if len(round) == 0 {
			return plan, m, loads, nil
		}
		for _, a := range round {
			before := m
			if m, err = m.Merge(a.Shard, a.With); err != nil {
				return nil, nil, loads, err
			}
			x, y := loads.Shards[a.Shard], loads.Shards[a.With]
			for _, d := range m.Shards() {
				if before.Shard(d.ID) != nil {
					continue
				}
				loads.Shards[d.ID] = Load{Docs: x.Docs + y.Docs, Bytes: x.Bytes + y.Bytes, RUs: x.RUs + y.RUs}
				if !d.Settled() {
					if m, err = m.Settle(d.ID); err != nil {
						return nil, nil, loads, err
					}
				}
				break
			}
			delete(loads.Shards, a.Shard)
			delete(loads.Shards, a.With)
			plan = append(plan, a)
		}
	}
}
