package ratelimit

import (
	"sync"
	"sync/atomic"
	"time"
)

// Activity is what one shard has done since the server started, for a history of it. Its numbers but Limit never fall.
type Activity struct {
	Limit   MicroRU // its RU/s share now; 0 when unlimited
	Charge  MicroRU
	Refused int64
	Bytes   int64         // of documents, read and returned or stored
	Reads   int64         // requests that only read, and succeeded
	Writes  int64         // documents written by requests that succeeded; those that found nothing to write count as one
	Failed  int64         // requests that did not succeed, though not for lack of units
	Ended   int64         // requests that were not refused
	Took    time.Duration // by those
}

// requests counts the requests that ended at one shard. Beside the bucket's mutex, which those that run want.
type requests struct {
	bytes, reads, writes, failed, ended, took atomic.Int64
}

// Outcome is how a request ended.
type Outcome uint8

// The outcomes.
const (
	HasRead Outcome = iota
	HasWritten
	HasFailed
)

// Ended notes at every shard where m counted work that the request which did it is over. It does not allocate.
func (b *Budgets) Ended(m *Meter, o Outcome, took time.Duration) {
	if m == nil {
		return
	}
	m.each(func(s *slot) {
		p := b.Collection(s.place.Collection)
		r := &p.set.Load().at(s.place.Shard).requests
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
		p.touch()
	})
}

// active are the collections that have something to show since EachActivity was called, so that nobody looks at
// ten thousand of which one works.
type active struct {
	mu    sync.Mutex
	pools []*Pool
}

// touch notes that a shard of the pool has done something. It comes after what was done.
func (p *Pool) touch() {
	if p.active == nil || p.touched.Load() || p.touched.Swap(true) {
		return
	}
	p.active.mu.Lock()
	p.active.pools = append(p.active.pools, p)
	p.active.mu.Unlock()
}

// EachActivity calls visit with what the shards of collections have done, all in all: of every collection that met a
// request since the last call, and of those whose throughput is limited. Only one history may ask.
func (b *Budgets) EachActivity(visit func(Place, Activity)) {
	b.active.mu.Lock()
	pools := b.active.pools
	b.active.pools = nil
	b.active.mu.Unlock()
	for _, p := range pools {
		p.touched.Store(false)
		set := p.set.Load()
		for j, k := range set.buckets {
			visit(Place{p.collection, set.shards[j]}, k.activity())
		}
		if set.limited && !p.dropped.Load() {
			p.touch()
		}
	}
}

// activity reads what the bucket has counted.
func (b *Bucket) activity() Activity {
	b.mu.Lock()
	a := Activity{Limit: b.rate, Charge: b.use.total, Refused: b.use.throttled}
	b.mu.Unlock()
	r := &b.requests
	a.Bytes, a.Reads, a.Writes, a.Failed = r.bytes.Load(), r.reads.Load(), r.writes.Load(), r.failed.Load()
	a.Ended, a.Took = r.ended.Load(), time.Duration(r.took.Load())
	return a
}
