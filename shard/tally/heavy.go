package tally

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/shard"
)

// Heavy holds the shard key values of one collection that are near the maximum size of a value. The
// balancer finds them by measuring; writers update their sizes from then on. The zero Heavy holds
// none. Safe for concurrent use.
type Heavy struct {
	n  atomic.Int64
	mu sync.RWMutex
	by map[string]*HeavyKey // by KeyPattern.AppendLogical
}

// HeavyKey is one shard key value near the maximum size, and the bytes of its documents.
type HeavyKey struct {
	Key    string
	shard  shard.ID
	bytes  atomic.Int64
	warned atomic.Bool
}

// Bytes returns the size of the value.
func (k *HeavyKey) Bytes() int64 { return k.bytes.Load() }

// Add changes the size after a commit.
func (k *HeavyKey) Add(n int64) { k.bytes.Add(n) }

// FirstWarning reports true at its first call for a value only, so that a warning about its size is logged once while
// the value stays heavy.
func (k *HeavyKey) FirstWarning() bool { return k.warned.CompareAndSwap(false, true) }

// Shard returns the shard in which the value was measured.
func (k *HeavyKey) Shard() shard.ID { return k.shard }

// Any reports whether there are heavy values. It costs one atomic read.
func (h *Heavy) Any() bool { return h.n.Load() > 0 }

// Of returns a value; nil if it is not heavy.
func (h *Heavy) Of(key []byte) *HeavyKey {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.by[string(key)]
}

// Measured sets the heavy values of a shard: sizes holds their bytes. Values that were heavy in that shard before and
// are not in sizes are light again.
func (h *Heavy) Measured(id shard.ID, sizes map[string]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, k := range h.by {
		if _, still := sizes[key]; k.shard == id && !still {
			delete(h.by, key)
		}
	}
	for key, n := range sizes {
		if h.by == nil {
			h.by = map[string]*HeavyKey{}
		}
		next := &HeavyKey{Key: key, shard: id}
		next.bytes.Store(n)
		next.warned.Store(h.by[key] != nil && h.by[key].warned.Load())
		h.by[key] = next
	}
	h.n.Store(int64(len(h.by)))
}

// List returns the values, the heaviest first.
func (h *Heavy) List() []*HeavyKey {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make([]*HeavyKey, 0, len(h.by))
	for _, k := range h.by {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *HeavyKey) int {
		return cmp.Or(cmp.Compare(b.Bytes(), a.Bytes()), cmp.Compare(a.Key, b.Key))
	})
	return out
}
