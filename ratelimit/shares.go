package ratelimit

import (
	"slices"
	"time"
)

// Redistribute moves throughput of the pool from the source shards to the target shards, by the rules of MoveShares.
// Errors: *InvalidThroughput.
func (p *Pool) Redistribute(now time.Time, targets []Share, sources []int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.set.Load()
	plan := slices.Clone(p.redistributed)
	if plan == nil {
		plan = EvenShares(p.throughput, set.shards)
	}
	plan, err := MoveShares(plan, targets, sources)
	if err != nil {
		return err
	}
	p.redistributed = plan
	p.divide(now, set.shards)
	return nil
}

// Equalize ends a redistribution.
func (p *Pool) Equalize(now time.Time) { p.Arrange(now, nil) }

// Arrange divides the throughput of the pool by the shares of an earlier redistribution, as stored in the catalog;
// nil divides it evenly. Shares that no longer fit the pool, because its shards or the sum have changed, count as
// nil.
func (p *Pool) Arrange(now time.Time, shares []Share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.set.Load()
	if !Fits(shares, set.shards, p.throughput) {
		shares = nil
	}
	if slices.Equal(shares, p.redistributed) {
		return
	}
	p.redistributed = slices.Clone(shares)
	p.divide(now, set.shards)
}

// Fits reports whether the shares name exactly the given shards, in ascending order, and add up to the throughput.
func Fits(shares []Share, shards []int, t Throughput) bool {
	if len(shares) != len(shards) {
		return false
	}
	var sum int64
	for i, s := range shares {
		if s.Shard != shards[i] {
			return false
		}
		sum += s.RUs
	}
	return sum == t.PerSecond(len(shards))
}

// EvenShares divides a throughput over shards in whole RU/s; the first ones get the remainder. It returns nil
// if the throughput is unlimited.
func EvenShares(t Throughput, shards []int) []Share {
	total, n := t.PerSecond(len(shards)), int64(len(shards))
	if total == 0 || n == 0 {
		return nil
	}
	out := make([]Share, 0, n)
	for i, id := range shards {
		share := total / n
		if int64(i) < total%n {
			share++
		}
		out = append(out, Share{id, share})
	}
	return out
}

// MoveShares returns a copy of a plan, the RU/s of every shard in the order of shard numbers, with throughput moved
// between the shards: the targets get the given RU/s, and the sources lose (or get) the difference in equal parts. No
// named shard may fall below ShardRateMin or rise above ShardRateMax, and the sum does not change. Errors:
// *InvalidThroughput. Source: Azure Cosmos DB, "distribute-throughput-across-partitions".
func MoveShares(plan, targets []Share, sources []int) ([]Share, error) {
	if len(plan) == 0 {
		return nil, invalid(RuleShares, 0, 0, "throughput can only be redistributed where it is provisioned")
	}
	plan = slices.Clone(plan)
	touched := make([]bool, len(plan))
	find := func(id int) (int, error) {
		i, ok := slices.BinarySearchFunc(plan, id, func(s Share, id int) int { return s.Shard - id })
		if !ok || touched[i] {
			return 0, invalid(RuleShares, int64(id), 0, "shard %d is unknown or named twice", id)
		}
		touched[i] = true
		return i, nil
	}
	var needed int64
	for _, t := range targets {
		i, err := find(t.Shard)
		if err != nil {
			return nil, err
		}
		if t.RUs < ShardRateMin || t.RUs > ShardRateMax {
			return nil, invalid(RuleShares, t.RUs, ShardRateMin, "shard %d must get between %d and %d RU/s, requested %d",
				t.Shard, ShardRateMin, ShardRateMax, t.RUs)
		}
		needed += t.RUs - plan[i].RUs
		plan[i].RUs = t.RUs
	}
	if len(sources) == 0 && needed != 0 {
		return nil, invalid(RuleShares, needed, 0, "the shares change the sum by %d RU/s; name the shards to take it from", needed)
	}
	for k, id := range sources {
		i, err := find(id)
		if err != nil {
			return nil, err
		}
		part := needed / int64(len(sources)-k)
		needed -= part
		plan[i].RUs -= part
		if plan[i].RUs < ShardRateMin || plan[i].RUs > ShardRateMax {
			return nil, invalid(RuleShares, plan[i].RUs, ShardRateMin, "shard %d would be left with %d RU/s; allowed are %d to %d",
				id, plan[i].RUs, ShardRateMin, ShardRateMax)
		}
	}
	return plan, nil
}
