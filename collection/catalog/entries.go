package catalog

import (
	"hash/maphash"
	"slices"
)

// entries map keys to what a snapshot holds: collections or databases. A persistent hash trie: the next snapshot
// shares with the one before all nodes except those on the path to what has changed. So the cost of a change grows
// only with the logarithm of the number of entries, which may be ten thousand, and the differences between two
// snapshots are found without visiting the rest. The zero value is empty. A copy is not affected by later puts into
// the original.
type entries[K, V comparable] struct{ root *node[K, V] }

// node is a node of the trie: a leaf with the pairs of one hash, or sixteen children by the next four
// bits. Immutable.
type node[K, V comparable] struct {
	hash     uint64
	pairs    []pair[K, V] // nearly always one pair
	children *[1 << nodeBits]*node[K, V]
}

type pair[K, V comparable] struct {
	key   K
	value V
}

const nodeBits = 4

var hashSeed = maphash.MakeSeed()

// childIndex returns the index of the child, among the sixteen of a trie node, that leads to a hash; the node itself
// was reached by the given number of bits of the hash.
func childIndex(hash uint64, bits int) int { return int(hash>>bits) & (1<<nodeBits - 1) }

// get returns the value of a key; the zero value if there is none.
func (e entries[K, V]) get(k K) V { return e.root.get(maphash.Comparable(hashSeed, k), 0, k) }

func (n *node[K, V]) get(hash uint64, bits int, k K) (none V) {
	for n != nil && n.children != nil {
		n = n.children[childIndex(hash, bits)]
		bits += nodeBits
	}
	if n != nil {
		for i := range n.pairs {
			if n.pairs[i].key == k {
				return n.pairs[i].value
			}
		}
	}
	return none
}

// put adds or replaces the value of a key; the zero value removes the key.
func (e *entries[K, V]) put(k K, v V) {
	e.root = e.root.with(maphash.Comparable(hashSeed, k), 0, pair[K, V]{k, v})
}

// with returns a copy of the node in which the pair p replaces the pair of the same key or is added. If the value of
// p is the zero value, the key is removed; with returns nil if nothing is left.
func (n *node[K, V]) with(hash uint64, bits int, p pair[K, V]) *node[K, V] {
	var none V
	switch {
	case n == nil:
		if p.value == none {
			return nil
		}
		return &node[K, V]{hash: hash, pairs: []pair[K, V]{p}}
	case n.children != nil:
		kids := *n.children
		i := childIndex(hash, bits)
		if kids[i] = kids[i].with(hash, bits+nodeBits, p); kids == [1 << nodeBits]*node[K, V]{} {
			return nil
		}
		return &node[K, V]{children: &kids}
	case n.hash == hash:
		same := slices.DeleteFunc(slices.Clone(n.pairs), func(q pair[K, V]) bool { return q.key == p.key })
		if p.value != none {
			same = append(same, p)
		}
		if len(same) == 0 {
			return nil
		}
		return &node[K, V]{hash: hash, pairs: same}
	case p.value == none:
		return n
	}
	divided := &node[K, V]{children: &[1 << nodeBits]*node[K, V]{}}
	divided.children[childIndex(n.hash, bits)] = n
	return divided.with(hash, bits, p)
}

// each yields all pairs, in no particular order.
func (e entries[K, V]) each(yield func(K, V) bool) { e.root.each(yield) }

func (n *node[K, V]) each(yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	for _, p := range n.pairs {
		if !yield(p.key, p.value) {
			return false
		}
	}
	if n.children != nil {
		for _, k := range n.children {
			if !k.each(yield) {
				return false
			}
		}
	}
	return true
}

// changes calls visit for each key whose value differs between the earlier entries before and these, with both
// values. A value is the zero value where the key is missing.
func (e entries[K, V]) changes(before entries[K, V], visit func(was, is V)) {
	changes(before.root, e.root, 0, visit)
}

func changes[K, V comparable](before, now *node[K, V], bits int, visit func(was, is V)) {
	switch {
	case before == now:
		return
	case before != nil && before.children != nil && now != nil && now.children != nil:
		for i := range before.children {
			changes(before.children[i], now.children[i], bits+nodeBits, visit)
		}
		return
	}
	var none V
	now.each(func(k K, is V) bool {
		if was := before.get(maphash.Comparable(hashSeed, k), bits, k); was != is {
			visit(was, is)
		}
		return true
	})
	before.each(func(k K, was V) bool {
		if now.get(maphash.Comparable(hashSeed, k), bits, k) == none {
			visit(was, none)
		}
		return true
	})
}
