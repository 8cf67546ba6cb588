package ratelimit

import "time"

// parent is the throughput of a database for one of its collections. A database has partitions of its own,
// each with its part of the RU/s, and every shard of a collection lies on one of them. Source: Azure Cosmos
// DB, "set-throughput" (database with shared throughput).
type parent struct {
	*Pool
	homes map[int]int // by shard of the collection; never written
}

// home returns the database's partition on which a shard lies. An unknown shard lies on the partition of its
// number, see bucketSet.at.
func (p *parent) home(shard int) int {
	if h, ok := p.homes[shard]; ok {
		return h
	}
	return shard
}

// at returns the bucket that pays for a shard.
func (p *parent) at(shard int) *Bucket { return p.set.Load().at(p.home(shard)) }

// admit is Pool.admit for a request on shards of a collection, at their homes. It returns the collection's
// shard.
func (p *parent) admit(now time.Time, child *Pool, shards []int, c Class) (shard int, wait time.Duration) {
	set := p.set.Load()
	if !set.limited {
		return 0, 0
	}
	routed := len(shards) > 0
	if !routed {
		shards = child.set.Load().shards
	}
	for i, s := range shards {
		w := set.at(p.home(s)).peek(now, c)
		if !routed && w == 0 {
			return s, 0
		}
		if i == 0 || routed && w > wait || !routed && w < wait {
			shard, wait = s, w
		}
	}
	if wait > 0 {
		set.at(p.home(shard)).countRefusal()
	}
	return shard, wait
}
