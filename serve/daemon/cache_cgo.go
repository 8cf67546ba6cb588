//go:build cgo

package daemon

// cacheInHeap reports whether the block cache and the memtables lie in Go's heap. With
// cgo, Pebble allocates them with C's malloc.
const cacheInHeap = false
