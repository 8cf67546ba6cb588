package ratelimit

import (
	"sync"
	"time"
)

// sharedCallers are Callers that are safe for concurrent use.
type sharedCallers struct {
	mu sync.Mutex
	Callers
}

// CountCaller adds the charges of a statement to the load of its caller on each visited shard of the pool's collection.
func (p *Pool) CountCaller(meter *Meter, caller *Caller, now time.Time) {
	if caller == nil {
		return
	}
	meter.EachOwnCharge(func(shard int, charge MicroRU) {
		s := &p.Hot(shard).callers
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Add(caller, 1, 0, charge, now)
	})
}

// Callers returns the callers with most of the load of a shard. Statements without a caller are not in it, and refused
// ones neither.
func (p *Pool) Callers(shard int) Callers {
	s := &p.Hot(shard).callers
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Callers
}
