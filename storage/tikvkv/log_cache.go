package tikvkv

import "sync"

// logCacheBytesMax bounds the cache of log values.
const logCacheBytesMax = 32 << 20

// logCache caches the commit times and bodies of recent log values, up to 32 MiB, because readers of the change log
// list the same keys again and again. A committed log value never changes, so no entry becomes stale. Values of more
// than 4 MiB, and others that are not cached, are fetched.
type logCache struct {
	mu        sync.Mutex
	now, old  map[string]entry // two generations: a full one becomes the old one
	size, all int64
}

// entryBytes estimates the size of an entry without its key and body.
const entryBytes = 100

// add caches a value.
func (c *logCache) add(key []byte, ts uint64, body []byte) {
	if len(body) > logCacheBytesMax/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		c.now = map[string]entry{}
	}
	n := int64(2*len(key) + len(body) + entryBytes)
	if c.size+n > logCacheBytesMax/2 {
		c.old, c.all = c.now, c.size
		c.now, c.size = map[string]entry{}, 0
	}
	c.now[string(key)] = entry{ts: ts, body: body}
	c.size += n
}

// get looks a value up.
func (c *logCache) get(key []byte) (ts uint64, body []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.now[string(key)]
	if !ok {
		e, ok = c.old[string(key)]
	}
	return e.ts, e.body, ok
}

// bytes estimates the size of the cache.
func (c *logCache) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size + c.all
}
