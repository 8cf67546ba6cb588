package tikvkv

import "sync"

// placesBytesMax bounds the cache of log values.
const placesBytesMax = 32 << 20

// placeCache keeps the commit times and bodies of the newest log values met, which readers
// list again and again: a commit time never changes. What it does not have is asked for.
type placeCache struct {
	mu        sync.Mutex
	now, old  map[string]entry // two generations: a full one becomes the old one
	size, all int64
}

// entryBytes is about what an entry takes beside its key and body.
const entryBytes = 100

// add keeps a value.
func (c *placeCache) add(key []byte, ts uint64, body []byte) {
	if len(body) > placesBytesMax/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		c.now = map[string]entry{}
	}
	n := int64(2*len(key) + len(body) + entryBytes)
	if c.size+n > placesBytesMax/2 {
		c.old, c.all = c.now, c.size
		c.now, c.size = map[string]entry{}, 0
	}
	c.now[string(key)] = entry{ts: ts, body: body}
	c.size += n
}

// get finds a value.
func (c *placeCache) get(key []byte) (ts uint64, body []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.now[string(key)]
	if !ok {
		e, ok = c.old[string(key)]
	}
	return e.ts, e.body, ok
}

// bytes is about what the cache holds.
func (c *placeCache) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size + c.all
}
