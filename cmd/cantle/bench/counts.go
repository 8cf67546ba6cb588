package bench

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// tally counts the operations of one kind.
type tally struct {
	latencies latencies
	done      int64
	refused   int64 // requests that the server throttled, also those that were sent again
	retries   int64
	failed    int64 // operations that were given up, throttled or with another error
	ru        float64
}

// merge adds the counts of x.
func (c *tally) merge(x *tally) {
	c.latencies.merge(&x.latencies)
	c.done += x.done
	c.refused += x.refused
	c.retries += x.retries
	c.failed += x.failed
	c.ru += x.ru
}

// counts are the tallies of all kinds of operations, since the last second and since the start. Safe for concurrent
// use.
type counts struct {
	mu        sync.Mutex
	second    tally
	all       map[string]*tally
	priced    bool  // replies have charges
	lastError error // of the failed operations
}

// outcome is the result of one operation.
type outcome struct {
	took    time.Duration // since the time at which the operation was due
	ru      float64
	priced  bool
	refused int64
	retries int64
	err     error
}

// add counts an operation.
func (c *counts) add(op string, o *outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[op]
	if one == nil {
		one = &tally{}
		c.all[op] = one
	}
	for _, t := range []*tally{one, &c.second} {
		if o.err == nil {
			t.done++
			t.latencies.add(o.took)
		} else {
			t.failed++
		}
		t.ru += o.ru
		t.refused += o.refused
		t.retries += o.retries
	}
	c.priced = c.priced || o.priced
	if o.err != nil {
		c.lastError = o.err
	}
}

// takeSecond returns the counts since its last call.
func (c *counts) takeSecond() (tally, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.second
	c.second = tally{}
	return t, c.priced
}

// total returns the sum of all kinds, and their names in alphabetical order.
func (c *counts) total() (sum tally, names []string) {
	for _, t := range c.all {
		sum.merge(t)
	}
	return sum, slices.Sorted(maps.Keys(c.all))
}
