package pebblekv

import (
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
)

// hot has values that are read again and again one by one: finding one takes a tenth of what
// Pebble takes to look through memtables, filters, indexes and blocks. It knows the newest
// value of a key only, and since when that is so: who reads an older state asks Pebble.
//
// A commit renews the values of the keys that it writes, or takes them out, before anybody can read
// at its timestamp, and leaves that behind in their sets. So a value that is there is the newest, and
// one that was read in a state from before the last write of its set is not taken in.
type hot struct {
	sets     []hotSet // a power of two
	bytesMax int64
	bytes    atomic.Int64
	hand     atomic.Uint64 // the set where room is looked for next
	floor    atomic.Uint64 // a timestamp; what is known from before does not count
}

// hotWays is how many values a set has at most.
const hotWays = 4

// hotSet has values whose keys' fingerprints end alike: a cache line. It is read without the lock.
type hotSet struct {
	values [hotWays]atomic.Pointer[hotValue]
	tags   atomic.Uint64 // the first 16 bits of their fingerprints, so that only the right one is looked at

	mu      sync.Mutex
	seen    uint64            // such tags of the last keys that were asked for and not there
	written storage.Timestamp // of the last commit that wrote a key of the set
}

// hotValue is a key and its value. It does not change but for the mark.
type hotValue struct {
	print  uint64
	from   storage.Timestamp // the value is that of every state since
	marked atomic.Bool       // it was read since room was looked for here
	key    int
	data   []byte // the key, the value
}

const (
	// hotValueMax bounds a value that is kept, in bytes.
	hotValueMax = 16 << 10
	// hotOverhead is what a value takes beside its bytes.
	hotOverhead = 96
	// hotSetBytes of the cache are for a set: two documents of usual size, or more small ones.
	hotSetBytes = 2 << 10
	// hotBytesMax bounds the cache: the most popular records of a store are few.
	hotBytesMax = 64 << 20
)

// hotShare is what of the memory for caches is for hot values.
func hotShare(cache int64) int64 { return min(cache/8, hotBytesMax) }

// newHot makes a cache of so many bytes.
func newHot(bytes int64) *hot {
	n := 1
	for int64(2*n)*hotSetBytes <= bytes {
		n *= 2
	}
	return &hot{sets: make([]hotSet, n), bytesMax: bytes}
}

func (h *hot) set(print uint64) *hotSet { return &h.sets[print&uint64(len(h.sets)-1)] }

// get appends the value of a key in the state at a timestamp to dst, if it is there.
func (h *hot) get(key []byte, print uint64, at storage.Timestamp, dst []byte) ([]byte, bool) {
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
		if !v.marked.Load() {
			v.marked.Store(true)
		}
		return append(dst, v.data[v.key:]...), true
	}
	return dst, false
}

// offer shows a value that was read in the state at a timestamp. It is taken in if its key was
// asked for before, not long ago: most keys never are.
func (h *hot) offer(key, value []byte, print uint64, at storage.Timestamp) {
	if len(value) > hotValueMax {
		return
	}
	s, tag := h.set(print), print>>48
	s.mu.Lock()
	if at < s.written || uint64(at) < h.floor.Load() {
		s.mu.Unlock()
		return
	}
	if !s.saw(tag) {
		s.seen = s.seen<<16 | tag
		s.mu.Unlock()
		return
	}
	v := newHotValue(key, value, print)
	v.from = at
	h.bytes.Add(v.size() - s.put(v))
	s.mu.Unlock()
	if h.bytes.Load() > h.bytesMax {
		h.makeRoom()
	}
}

// saw reports whether a tag is among those of the last keys that were not there; s.mu is held.
func (s *hotSet) saw(tag uint64) bool {
	for n := s.seen; n != 0; n >>= 16 {
		if n&0xffff == tag {
			return true
		}
	}
	return false
}

// put gives a value a place, that of an older one of its key first, and returns the size of what was
// there; s.mu is held.
func (s *hotSet) put(v *hotValue) (gone int64) {
	at := s.place(v.print)
	if old := s.values[at].Load(); old != nil {
		gone = old.size()
	}
	s.values[at].Store(v)
	s.tags.Store(s.tags.Load()&^(0xffff<<(16*at)) | v.print>>48<<(16*at))
	return gone
}

// place is where a value with a fingerprint comes: where one with the same is, where none is,
// or else where one is that was not read lately; s.mu is held.
func (s *hotSet) place(print uint64) int {
	free, cold := -1, -1
	for i := range s.values {
		switch v := s.values[i].Load(); {
		case v == nil:
			free = i
		case v.print == print:
			return i
		case !v.marked.Swap(false):
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

// renewal is what comes in the place of a key's value when a commit that writes it is applied: nil
// where that is not there, and where the commit deletes the key.
func (h *hot) renewal(key, value []byte, print uint64) *hotValue {
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

// overwrite gives the key of a fingerprint, which a commit writes, its renewal, or takes it out
// without one. It is called before anybody reads at the commit's timestamp.
func (h *hot) overwrite(print uint64, at storage.Timestamp, renewal *hotValue) {
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
			s.seen = s.seen<<16 | print>>48 // who reads it next has it taken in again
			continue
		}
		renewal.from = at
		s.values[i].Store(renewal)
		h.bytes.Add(grown)
	}
	s.mu.Unlock()
}

// forget lets go of all that is known, as of a timestamp at which nobody reads yet.
func (h *hot) forget(at storage.Timestamp) { h.floor.Store(uint64(at)) }

// makeRoom lets go of values that were not read since the last time, until the others have
// room.
func (h *hot) makeRoom() {
	for range 2 * len(h.sets) {
		s := &h.sets[h.hand.Add(1)&uint64(len(h.sets)-1)]
		s.mu.Lock()
		for i := range s.values {
			switch v := s.values[i].Load(); {
			case v == nil:
			case v.marked.Load():
				v.marked.Store(false)
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

// newHotValue makes a value of copies; its from is to be set.
func newHotValue(key, value []byte, print uint64) *hotValue {
	v := &hotValue{print: print, key: len(key), data: make([]byte, len(key)+len(value))}
	copy(v.data, key)
	copy(v.data[len(key):], value)
	return v
}

// size is what the value takes of the cache.
func (v *hotValue) size() int64 { return int64(len(v.data)) + hotOverhead }
