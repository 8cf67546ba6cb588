//go:build cgo

package daemon

// cacheInHeap reports whether the block cache and the memtables lie in Go's heap, which HeapLimit must then allow
// for. With cgo, Pebble allocates them with C's malloc.
const cacheInHeap = false
