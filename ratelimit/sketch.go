package ratelimit

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
)

// keyBytesMax is the length in bytes to which a sketch cuts keys; longer keys that are equal up to it count as one
// key.
const keyBytesMax = 512

// Sketch finds the heaviest keys of a stream in bounded memory, by the space-saving algorithm. With room for k keys
// it contains every key with more than 1/k of the total weight, and a weight is too high by at most the Error of its
// key. The zero Sketch has room for 64 keys. Safe for concurrent use.
type Sketch struct {
	mu    sync.Mutex
	room  int
	index map[string]*hotKey
	heap  hotHeap // lightest first
}

// Hot is one key of a Sketch.
type Hot struct {
	Key    string // as given to Add, cut at 512 bytes
	Weight int64
	Error  int64 // the true weight is between Weight-Error and Weight
	// By has the callers with most of the weight, as far as they were given to AddBy.
	By []CallerWeight
}

type hotKey struct {
	Hot         // without By
	at      int // place in the heap
	callers keyCallers
}

// NewSketch creates a sketch with room for k keys.
func NewSketch(k int) *Sketch { return &Sketch{room: max(1, k)} }

// Add adds weight to a key, and copies the bytes of the key if it keeps them. For a key that is already in the
// sketch it does not allocate.
func (s *Sketch) Add(key []byte, weight int64) { s.AddBy(key, weight, nil) }

// AddBy adds weight to a key, as Add does, and counts it for a caller; nil for none.
func (s *Sketch) AddBy(key []byte, weight int64, caller *Caller) {
	if weight <= 0 {
		return
	}
	key = key[:min(len(key), keyBytesMax)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		if s.room == 0 {
			s.room = 64
		}
		s.index = make(map[string]*hotKey, s.room)
	}
	h, ok := s.index[string(key)]
	switch {
	case ok:
	case len(s.heap) < s.room:
		h = &hotKey{Hot: Hot{Key: string(key)}}
		s.index[h.Key] = h
		heap.Push(&s.heap, h)
	default: // replace the lightest key; its weight becomes the possible error
		h = s.heap[0]
		delete(s.index, h.Key)
		h.Key, h.Error, h.callers = string(key), h.Weight, keyCallers{}
		s.index[h.Key] = h
	}
	h.Weight = int64(addSaturating(MicroRU(h.Weight), MicroRU(weight)))
	if caller != nil {
		h.callers.add(caller, weight)
	}
	heap.Fix(&s.heap, h.at)
}

// Top returns the n heaviest keys, the heaviest first; keys of equal weight are in the order of the keys.
func (s *Sketch) Top(n int) []Hot {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Hot, len(s.heap))
	for i, h := range s.heap {
		out[i] = h.Hot
	}
	out = heaviest(out, n)
	for i := range out {
		out[i].By = s.index[out[i].Key].callers.list()
	}
	return out
}

// MergeHot adds up lists of heavy keys, one from each sketch (those of several servers), and returns the n heaviest
// keys of all. If a list lacks a key, the sum of this key is too low by at most the weight of the lightest key
// of that list.
func MergeHot(n int, lists ...[]Hot) []Hot {
	sum := map[string]Hot{}
	for _, list := range lists {
		for _, h := range list {
			had := sum[h.Key]
			sum[h.Key] = Hot{h.Key, int64(addSaturating(MicroRU(had.Weight), MicroRU(h.Weight))), int64(addSaturating(MicroRU(had.Error), MicroRU(h.Error))), mergeWeights(had.By, h.By)}
		}
	}
	out := make([]Hot, 0, len(sum))
	for _, h := range sum {
		out = append(out, h)
	}
	return heaviest(out, n)
}

// heaviest sorts keys by weight, the heaviest first, equal weights by key, and returns the first n.
func heaviest(list []Hot, n int) []Hot {
	slices.SortFunc(list, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Key, b.Key))
	})
	return list[:max(0, min(n, len(list)))]
}

// Halve halves all weights. A sketch that is halved every minute represents mostly the last minutes.
func (s *Sketch) Halve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.heap {
		h.Weight, h.Error = h.Weight/2, h.Error/2
		h.callers.halve()
	}
}

// hotHeap is a heap of the keys of a Sketch, the lightest on top. Halving all weights keeps their order.
type hotHeap []*hotKey

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h hotHeap) Len() int           { return len(h) }
func (h hotHeap) Less(i, j int) bool { return h[i].Weight < h[j].Weight }
func (h hotHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }
func (h *hotHeap) Push(x any)        { k := x.(*hotKey); k.at = len(*h); *h = append(*h, k) }
func (h *hotHeap) Pop() any          { k := (*h)[len(*h)-1]; *h = (*h)[:len(*h)-1]; return k }

// HotKeys are the heaviest shard key values of one shard, and the callers with most of its load.
type HotKeys struct {
	ByRU    Sketch // weights in MicroRU
	ByBytes Sketch // weights in bytes written
	callers sharedCallers
}

// CountKey adds a charge and the bytes written to one shard key value, so that HotKeys finds the hot keys of a
// shard. key may have any encoding that can be displayed again. caller has the origin of the charge, nil for none.
func (p *Pool) CountKey(shard int, key []byte, charge MicroRU, bytesWritten int64, caller *Caller) {
	h := p.Hot(shard)
	h.ByRU.AddBy(key, int64(charge), caller)
	h.ByBytes.Add(key, bytesWritten)
}

// Hot returns the heaviest shard key values of a shard.
func (p *Pool) Hot(shard int) *HotKeys {
	if h, ok := p.hot.Load(shard); ok {
		return h.(*HotKeys)
	}
	h, _ := p.hot.LoadOrStore(shard, &HotKeys{})
	return h.(*HotKeys)
}
