package pebblekv

import (
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
)

// hotCache caches values that are read often by point lookups: a hit takes a tenth of the time that Pebble takes
// to look through memtables, filters, indexes and blocks. It holds only the newest value of a key, with a
// timestamp from which on that value is the newest; reads of older states go to Pebble.
//
// Each commit replaces or removes the cached values of its keys before any read at its timestamp, and stores this
// timestamp in their sets. So a valid cached value is always the newest one, and a value that was read at a timestamp
// before the last write of its set is not cached.
type hotCache struct {
	sets     []hotSet // their number is a power of two
	bytesMax int64
	bytes    atomic.Int64
	hand     atomic.Uint64 // the set that evict checked last, as the hand of a clock cache
	floor    atomic.Uint64 // values from before this timestamp are invalid
}

// hotWays is the maximum number of values in one set of the hot cache.
const hotWays = 4

// hotSet holds the cached values of keys whose fingerprints have the same low bits. It fills one cache line of 64
// bytes; values and tags are read without the lock.
type hotSet struct {
	values [hotWays]atomic.Pointer[hotValue]
	tags   atomic.Uint64 // the top 16 bits of each value's fingerprint, so that a lookup reads only a value that matches

	mu      sync.Mutex
	missed  uint64            // tags of the last four keys that were looked up and not found, or removed by a commit
	written storage.Timestamp // timestamp of the last commit that wrote a key of this set; older reads are not cached
}

// hotValue is a key and its value in the hot cache. It is immutable, except for recentlyRead.
type hotValue struct {
	print        uint64
	from         storage.Timestamp // the timestamp since which the value is the newest
	recentlyRead atomic.Bool       // it was read since evict last checked its set
	key          int
	data         []byte // the key, then the value
}

const (
	// hotValueMax is the largest value that is cached, in bytes.
	hotValueMax = 16 << 10
	// hotOverhead is the memory in bytes that a cached value takes besides its key and data.
	hotOverhead = 96
	// hotSetBytes is the cache size in bytes from which the number of sets is computed: for two documents of usual
	// size, or more small ones, in each set.
	hotSetBytes = 2 << 10
	// hotBytesMax is the maximum size of the hot cache in bytes: few records of a store are read very often.
	hotBytesMax = 64 << 20
)

// hotShare returns how many of the bytes for caches (Options.CacheBytes) the hot cache gets: an eighth, at most 64
// MiB.
func hotShare(cache int64) int64 { return min(cache/8, hotBytesMax) }

// newHotCache creates an empty hot cache of at most so many bytes.
func newHotCache(bytes int64) *hotCache {
	n := 1
	for int64(2*n)*hotSetBytes <= bytes {
		n *= 2
	}
	return &hotCache{sets: make([]hotSet, n), bytesMax: bytes}
}

func (h *hotCache) set(print uint64) *hotSet { return &h.sets[print&uint64(len(h.sets)-1)] }

// get appends the value of a key at a timestamp to dst, and reports whether the cache had it. It misses too if the
// cached value is newer than the timestamp or was invalidated.
func (h *hotCache) get(key []byte, print uint64, at storage.Timestamp, dst []byte) ([]byte, bool) {
	s := h.set(print)
	tags := s.tags.Load()
	for i := range s.values {
		if uint16(tags>>(16*i)) != uint16(print>>48) {
			continue
		}
		v := s.values[i].Load()
		if v == nil || v.print != print || string(v.data[:v.key]) != string(key) {
			continue
		}
		if v.from > at || uint64(v.from) < h.floor.Load() {
			return dst, false
		}
		if !v.recentlyRead.Load() {
			v.recentlyRead.Store(true)
		}
		return append(dst, v.data[v.key:]...), true
	}
	return dst, false
}

// offer caches a value that Pebble returned for a read at a timestamp, if the key was looked up before, among the
// last four misses of its set: most keys are never read again. It drops values above 16 KiB, and values that a
// later commit may have changed.
func (h *hotCache) offer(key, value []byte, print uint64, at storage.Timestamp) {
	if len(value) > hotValueMax {
		return
	}
	s, tag := h.set(print), print>>48
	s.mu.Lock()
	if at < s.written || uint64(at) < h.floor.Load() {
		s.mu.Unlock()
		return
	}
	if !s.recentlyMissed(tag) {
		s.missed = s.missed<<16 | tag
		s.mu.Unlock()
		return
	}
	v := newHotValue(key, value, print)
	v.from = at
	h.bytes.Add(v.size() - s.put(v))
	s.mu.Unlock()
	if h.bytes.Load() > h.bytesMax {
		h.evict()
	}
}

// recentlyMissed reports whether a lookup in this set has lately missed a key with the given tag (16 bits of its
// fingerprint), among the last four misses. The caller holds s.mu.
func (s *hotSet) recentlyMissed(tag uint64) bool {
	for n := s.missed; n != 0; n >>= 16 {
		if n&0xffff == tag {
			return true
		}
	}
	return false
}

// put stores a value in the set, in place of an older one of the same key if there is one, and returns the size of
// the value that it replaced, in bytes. The caller holds s.mu.
func (s *hotSet) put(v *hotValue) (gone int64) {
	at := s.slot(v.print)
	if old := s.values[at].Load(); old != nil {
		gone = old.size()
	}
	s.values[at].Store(v)
	s.tags.Store(s.tags.Load()&^(0xffff<<(16*at)) | v.print>>48<<(16*at))
	return gone
}

// slot returns the index in the set at which a value with a fingerprint is to be stored: where the same
// fingerprint is, else a free place, else one whose value was not read lately, else one chosen by the fingerprint.
// The caller holds s.mu.
func (s *hotSet) slot(print uint64) int {
	free, cold := -1, -1
	for i := range s.values {
		switch v := s.values[i].Load(); {
		case v == nil:
			free = i
		case v.print == print:
			return i
		case !v.recentlyRead.Swap(false):
			cold = i
		}
	}
	switch {
	case free >= 0:
		return free
	case cold >= 0:
		return cold
	}
	return int(print >> 32 % hotWays)
}

// replacement creates the new hot value of a key that a commit writes, before the commit takes its lock. It
// returns nil if the key is not cached, the commit deletes it, or the value exceeds 16 KiB.
func (h *hotCache) replacement(key, value []byte, print uint64) *hotValue {
	if value == nil || len(value) > hotValueMax {
		return nil
	}
	s := h.set(print)
	tags := s.tags.Load()
	for i := range s.values {
		if uint16(tags>>(16*i)) != uint16(print>>48) {
			continue
		}
		if v := s.values[i].Load(); v != nil && v.print == print {
			return newHotValue(key, value, print)
		}
	}
	return nil
}

// overwrite replaces the hot value of a key that a commit writes by renewal, or removes it if renewal is nil or
// the cache has no room for it. It is called before any read at the commit's timestamp, so no read gets the old
// value.
func (h *hotCache) overwrite(print uint64, at storage.Timestamp, renewal *hotValue) {
	s := h.set(print)
	s.mu.Lock()
	s.written = at
	for i := range s.values {
		old := s.values[i].Load()
		if old == nil || old.print != print {
			continue
		}
		grown := -old.size()
		if renewal != nil {
			grown += renewal.size()
		}
		if renewal == nil || grown > 0 && h.bytes.Load()+grown > h.bytesMax {
			s.values[i].Store(nil)
			h.bytes.Add(-old.size())
			s.missed = s.missed<<16 | print>>48 // so that the next read caches it again
			continue
		}
		renewal.from = at
		s.values[i].Store(renewal)
		h.bytes.Add(grown)
	}
	s.mu.Unlock()
}

// invalidate makes all cached values invalid, after a commit that deletes a range. at is the timestamp of that
// commit, which has no reader yet.
func (h *hotCache) invalidate(at storage.Timestamp) { h.floor.Store(uint64(at)) }

// evict removes values until the cache is within its maximum size, by the clock algorithm: it goes from set to
// set, and removes each value that was not read since it last came to that set.
func (h *hotCache) evict() {
	for range 2 * len(h.sets) {
		s := &h.sets[h.hand.Add(1)&uint64(len(h.sets)-1)]
		s.mu.Lock()
		for i := range s.values {
			switch v := s.values[i].Load(); {
			case v == nil:
			case v.recentlyRead.Load():
				v.recentlyRead.Store(false)
			default:
				s.values[i].Store(nil)
				h.bytes.Add(-v.size())
			}
		}
		s.mu.Unlock()
		if h.bytes.Load() <= h.bytesMax {
			return
		}
	}
}

// newHotValue creates a hot value from copies of key and value. The caller sets from, the timestamp.
func newHotValue(key, value []byte, print uint64) *hotValue {
	v := &hotValue{print: print, key: len(key), data: make([]byte, len(key)+len(value))}
	copy(v.data, key)
	copy(v.data[len(key):], value)
	return v
}

// size returns the size of the value in the cache.
func (v *hotValue) size() int64 { return int64(len(v.data)) + hotOverhead }
