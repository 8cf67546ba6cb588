package pebblekv

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// anchor holds one unused Pebble snapshot open for up to a second. When the oldest
// snapshot is closed, Pebble looks for compactions, waiting for whoever is
// writing the manifest to the disk; every commit ends a snapshot, and without an
// older one it would pay for that each time. What is held up is the removal of
// old versions, by as long.
type anchor struct {
	mu sync.Mutex
	ps *pebble.Snapshot
}

// close closes a snapshot that advance or release returned, or nil; store.mu is
// not held.
func (a *anchor) close(ps *pebble.Snapshot) {
	if ps == nil {
		return
	}
	a.mu.Lock()
	if a.ps == nil {
		a.ps, ps = ps, nil
	}
	a.mu.Unlock()
	if ps != nil {
		_ = ps.Close() // never fails
	}
}

// lift closes the snapshot held.
func (a *anchor) lift() {
	a.mu.Lock()
	ps := a.ps
	a.ps = nil
	a.mu.Unlock()
	if ps != nil {
		_ = ps.Close()
	}
}
