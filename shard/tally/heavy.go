package tally

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/shard"
)

// Heavy is the shard key values of one collection that come near the size a
// value may have. The balancer finds them by measuring; writers keep their sizes
// from then on. The zero Heavy knows none. Safe for concurrent use.
type Heavy struct {
	n  atomic.Int64
	mu sync.RWMutex
	by map[string]*HeavyKey // by KeyPattern.AppendLogical
}

// HeavyKey is one value. Its bytes are those of its documents.
type HeavyKey struct {
	Key    string
	shard  shard.ID
	bytes  atomic.Int64
	warned atomic.Bool
}

// Bytes is its size.
func (k *HeavyKey) Bytes() int64 { return k.bytes.Load() }

// Add changes its size, after a commit.
func (k *HeavyKey) Add(n int64) { k.bytes.Add(n) }

// Warn reports, once, that nobody has been warned of it yet.
func (k *HeavyKey) Warn() bool { return k.warned.CompareAndSwap(false, true) }

// Shard is where it was measured.
func (k *HeavyKey) Shard() shard.ID { return k.shard }

// Any reports whether there are values to look after. It costs one atomic read.
func (h *Heavy) Any() bool { return h.n.Load() > 0 }

// Of finds a value, nil if it is not heavy.
func (h *Heavy) Of(key []byte) *HeavyKey {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.by[string(key)]
}

// Measured says which heavy values a shard was found to have; others that were
// known of it are light again.
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
