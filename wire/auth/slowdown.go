package auth

import (
	"sync"
	"time"
)

// Slowdown makes guessing passwords slow: after a few failures of one key, each
// further answer is held back longer. It never locks anybody out. Safe for
// concurrent use.
type Slowdown struct {
	mu  sync.Mutex
	now map[string]failures
}

// failures are how often a key failed, and when last.
type failures struct {
	n    int
	last time.Time
}

// The rules: so many failures are free, and then the delay doubles; a key is
// forgotten some time after its last failure, and all are when there are too many.
const (
	freeFailures = 3
	firstDelay   = 100 * time.Millisecond
	longestDelay = 3200 * time.Millisecond
	forgetAfter  = 5 * time.Minute
	keysMax      = 10_000
)

// Failed notes a failure and returns how long its answer is to be held back.
func (s *Slowdown) Failed(key string, at time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		s.now = map[string]failures{}
	}
	f := s.now[key]
	if at.Sub(f.last) > forgetAfter {
		f = failures{}
	}
	f.n, f.last = f.n+1, at
	if _, ok := s.now[key]; !ok && len(s.now) >= keysMax {
		for k, f := range s.now {
			if at.Sub(f.last) > forgetAfter {
				delete(s.now, k)
			}
		}
		if len(s.now) >= keysMax {
			clear(s.now) // an attack with many names: what each costs still holds
		}
	}
	s.now[key] = f
	if f.n <= freeFailures {
		return 0
	}
	return min(firstDelay<<min(f.n-freeFailures-1, 10), longestDelay)
}

// Succeeded forgets the failures of a key.
func (s *Slowdown) Succeeded(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, key)
}
