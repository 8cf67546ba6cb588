package expr

import (
	"container/list"
	"sync"
)

// Limits of the cache of compiled scripts.
const (
	cachedScriptsMax = 1000
	cachedBytesMax   = 16 << 20
)

// scripts holds the scripts that any command of the process has compiled recently.
var scripts = scriptCache{bySource: map[string]*list.Element{}}

// scriptCache is an LRU cache of compiled scripts by their source texts. Safe for concurrent use.
type scriptCache struct {
	mu       sync.Mutex
	bySource map[string]*list.Element // of *Script
	order    list.List                // most recently used first
	bytes    int
	compiled int // total number of compilations
}

// get returns the script of a source, nil if it is not cached.
func (c *scriptCache) get(source string) *Script {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.bySource[source]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*Script)
}

// add stores a newly compiled script.
func (c *scriptCache) add(s *Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compiled++
	if c.bySource[s.source] != nil {
		return // another command has stored it meanwhile
	}
	c.bySource[s.source] = c.order.PushFront(s)
	c.bytes += s.bytes
	for c.bytes > cachedBytesMax || len(c.bySource) > cachedScriptsMax {
		last := c.order.Remove(c.order.Back()).(*Script)
		delete(c.bySource, last.source)
		c.bytes -= last.bytes
	}
}
