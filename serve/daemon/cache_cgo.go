//go:build cgo

package daemon

// cacheInHeap is whether the block cache and the memtables lie in Go's heap: where Pebble
// can call C's malloc, they do not.
const cacheInHeap = false
