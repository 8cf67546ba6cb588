package ratelimit

import "time"

// parent is the shared throughput of a database as one of its collections pays from it. A database has partitions of
// its own, each with its part of the RU/s, and every shard of a collection lies on one of them. Source: Azure Cosmos
// DB, "set-throughput" (database with shared throughput).
type parent struct {
	*Pool
	homes map[int]int // by shard of the collection; never written
}

// home returns the number of the database's partition on which a shard of the collection lies. A shard that is not
// in homes lies on the partition of its own number; bucketSet.at replaces a missing one.
func (p *parent) home(shard int) int {
	if h, ok := p.homes[shard]; ok {
		return h
	}
	return shard
}

// at returns the bucket of the database's partition from which a shard of the collection pays.
func (p *parent) at(shard int) *Bucket { return p.set.Load().at(p.home(shard)) }

// admit decides as Pool.admit does, but by the database's partitions on which the shards of a collection lie. child
// is the pool of the collection; the returned shard is one of its shards.
func (p *parent) admit(now time.Time, child *Pool, shards []int, c Class) (shard int, by Standing, wait time.Duration) {
	set := p.set.Load()
	if !set.limited {
		return 0, by, 0
	}
	routed := len(shards) > 0
	if !routed {
		shards = child.set.Load().shards
	}
	for i, s := range shards {
		w := set.at(p.home(s)).peek(now, c)
		if !routed && w == 0 {
			return s, by, 0
		}
		if i == 0 || routed && w > wait || !routed && w < wait {
			shard, wait = s, w
		}
	}
	if wait > 0 {
		if by = set.at(p.home(shard)).countRefusal(c); by.Limit == PartitionLimit {
			by.Limit = DatabaseLimit
		}
	}
	return shard, by, wait
}
