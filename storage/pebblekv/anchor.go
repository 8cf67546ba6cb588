package pebblekv

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// anchor keeps one Pebble snapshot open for up to a second, although no reader needs it, because closing the
// oldest snapshot is slow: Pebble then looks for compactions, and waits for a goroutine that is writing the
// manifest to the disk. Most commits end a snapshot, and without an older one each of them would pay for that.
// As a cost, old versions are removed up to a second later.
type anchor struct {
	mu sync.Mutex
	ps *pebble.Snapshot
}

// close closes a Pebble snapshot that has no reader any more, or keeps it as the anchor if there is none; ps may
// be nil. The caller does not hold store.mu.
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

// release closes the snapshot that is kept as the anchor, so that compactions can remove the versions that it
// needs.
func (a *anchor) release() {
	a.mu.Lock()
	ps := a.ps
	a.ps = nil
	a.mu.Unlock()
	if ps != nil {
		_ = ps.Close()
	}
}
