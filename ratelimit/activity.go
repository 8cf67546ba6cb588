package ratelimit

import (
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
		r := &b.Collection(s.place.Collection).set.Load().at(s.place.Shard).requests
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
	})
}

// EachActivity calls visit with what every shard of every collection that has met a request has done.
func (b *Budgets) EachActivity(visit func(Place, Activity)) {
	for i := range b.collections {
		stripe := &b.collections[i]
		stripe.mu.RLock()
		for id, p := range stripe.m {
			set := p.set.Load()
			for j, k := range set.buckets {
				visit(Place{id, set.shards[j]}, k.activity())
			}
		}
		stripe.mu.RUnlock()
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
