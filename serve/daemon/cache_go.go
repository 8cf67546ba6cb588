//go:build !cgo

package daemon

// cacheInHeap reports whether the block cache and the memtables lie in Go's heap, which HeapLimit must then allow
// for. Without cgo, as in the released programs, Pebble has no other place for them.
const cacheInHeap = true
