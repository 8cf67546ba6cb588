package ratelimit

import (
	"sync"
	"sync/atomic"
	"time"
)

// Activity holds the counters of one shard since the server started, from which its history is recorded. All numbers
// but Limit only increase.
type Activity struct {
	Limit   MicroRU // the shard's RU/s at all servers together now; 0 when unlimited
	Charge  MicroRU
	Refused int64
	Bytes   int64         // of documents read by key, returned by queries, stored, replaced or removed
	Reads   int64         // requests that only read, and succeeded
	Writes  int64         // of each successful request the larger of documents stored and removed, at least 1
	Failed  int64         // requests that failed for another reason than throttling
	Ended   int64         // requests that were not throttled
	Took    time.Duration // total duration of the requests in Ended

	// RefusedLeast and RefusedMost are bounds of the price of the refused requests, see Budgets.CountRefused. Retried is
	// the part of Charge of requests that are in RefusedLeast too.
	RefusedLeast, RefusedMost, Retried MicroRU
}

// requestCounts counts the requests that ended at one shard. Its counters are atomic and outside of the bucket's
// mutex, because the mutex is contended by running requests.
type requestCounts struct {
	bytes, reads, writes, failed, ended, took atomic.Int64
	refusedLeast, refusedMost, retried        atomic.Int64 // micro request units
}

// Outcome is the result of a request.
type Outcome uint8

// The outcomes.
const (
	HasRead Outcome = iota
	HasWritten
	HasFailed
)

// Ended counts the end of a request, with its outcome and duration, at every shard where the meter of the request
// counted work; a write counts there once for each document written, at least once. It does not allocate.
func (b *Budgets) Ended(m *Meter, o Outcome, took time.Duration) {
	if m == nil {
		return
	}
	m.each(func(s *slot) {
		p := b.Collection(s.shardID.Collection)
		r := &p.set.Load().at(s.shardID.Shard).requests
		switch o {
		case HasRead:
			r.reads.Add(1)
		case HasWritten:
			r.writes.Add(max(1, s.quantity[WriteNew], s.quantity[WriteOld]))
		case HasFailed:
			r.failed.Add(1)
		}
		r.ended.Add(1)
		r.took.Add(int64(took))
		r.bytes.Add(s.bytes)
		p.markActive()
	})
}

// activePools lists the pools of collections that have a limit, or whose counters have changed since the last
// EachActivity. So the reader visits one active collection instead of checking ten thousand idle ones.
type activePools struct {
	mu    sync.Mutex
	pools []*Pool
}

// markActive adds the pool to the list of active pools, from which EachActivity reads, if it is not there yet. The
// caller must have changed the counters before, otherwise EachActivity can miss the change.
func (p *Pool) markActive() {
	if p.active == nil || p.isActive.Load() || p.isActive.Swap(true) {
		return
	}
	p.active.mu.Lock()
	p.active.pools = append(p.active.pools, p)
	p.active.mu.Unlock()
}

// EachActivity calls visit with the counters of each shard, for every collection whose counters have changed since the
// last call, and for every collection with limited throughput of its own. Each call empties the list of active pools,
// so only one part of the server may call it.
func (b *Budgets) EachActivity(visit func(ShardID, Activity)) {
	b.active.mu.Lock()
	pools := b.active.pools
	b.active.pools = nil
	b.active.mu.Unlock()
	for _, p := range pools {
		p.isActive.Store(false)
		set := p.set.Load()
		for j, k := range set.buckets {
			visit(ShardID{p.collection, set.shards[j]}, k.activity())
		}
		if set.limited && !p.dropped.Load() {
			p.markActive()
		}
	}
}

// activity returns the counters of the bucket.
func (b *Bucket) activity() Activity {
	b.mu.Lock()
	a := Activity{Limit: b.rate, Charge: b.use.total, Refused: b.use.throttled}
	b.mu.Unlock()
	r := &b.requests
	a.Bytes, a.Reads, a.Writes, a.Failed = r.bytes.Load(), r.reads.Load(), r.writes.Load(), r.failed.Load()
	a.Ended, a.Took = r.ended.Load(), time.Duration(r.took.Load())
	a.RefusedLeast, a.RefusedMost, a.Retried = MicroRU(r.refusedLeast.Load()), MicroRU(r.refusedMost.Load()), MicroRU(r.retried.Load())
	return a
}
