package expr

import (
	"container/list"
	"sync"
)

// Bounds of the scripts that are kept for those who send them again.
const (
	cachedScriptsMax = 1000
	cachedBytesMax   = 16 << 20
)

// scripts are those that were compiled lately, for all commands of the process.
var scripts = scriptCache{bySource: map[string]*list.Element{}}

// scriptCache keeps scripts by their sources; who was not asked for longest goes first. Safe
// for concurrent use.
type scriptCache struct {
	mu       sync.Mutex
	bySource map[string]*list.Element // of *Script
	order    list.List                // newest first
	bytes    int
	compiled int // ever
}

// get is the script of a source, nil if there is none.
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

// add keeps a script that was compiled just now.
func (c *scriptCache) add(s *Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compiled++
	if c.bySource[s.source] != nil {
		return // another command was as quick
	}
	c.bySource[s.source] = c.order.PushFront(s)
	c.bytes += s.bytes
	for c.bytes > cachedBytesMax || len(c.bySource) > cachedScriptsMax {
		last := c.order.Remove(c.order.Back()).(*Script)
		delete(c.bySource, last.source)
		c.bytes -= last.bytes
	}
}
