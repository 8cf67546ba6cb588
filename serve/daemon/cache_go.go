//go:build !cgo

package daemon

// cacheInHeap is whether the block cache and the memtables lie in Go's heap: in a build
// without C, such as the released ones, Pebble has no other place for them.
const cacheInHeap = true
