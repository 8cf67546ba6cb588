package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
)

// Bounds, in time and number, of the states that are kept after snapshot reads
// for further reads at the same time. An old state costs disk space, because
// overwritten values cannot be removed.
// Manual: reference/parameters#minSnapshotHistoryWindowInSeconds.
const (
	HistoryWindow = 5 * time.Minute // the default; see SetHistoryWindow
	snapshotsMax  = 512
)

// states keeps states of the store open whose times clients have: a snapshot session continues to
// read at the time of its first read. The state of any other time is made from the change log on
// demand: see rewoundState. Safe for concurrent use.
type states struct {
	clock     func() time.Time
	mu        sync.Mutex
	window    time.Duration
	snapshots []heldSnapshot // oldest first
	expiry    *time.Timer
	rewound   []*rewoundState // least recently used first
	idle      *time.Timer
	closed    bool
}

// heldSnapshot is one state, with the catalog of its time.
type heldSnapshot struct {
	reader  storage.Reader
	catalog *catalog.Snapshot
	since   time.Time
}

// SnapshotTime returns the newest time, and keeps its state readable for a while,
// so that Op.At may be that time.
func (c *Cluster) SnapshotTime(ctx context.Context) (storage.Timestamp, error) {
	for {
		snap := c.catalog.Peek()
		r, err := c.store.Snapshot(ctx, 0)
		if err != nil {
			return 0, err
		}
		at := r.ReadTimestamp()
		changed := c.catalog.Peek() != snap
		if changed || !c.states.retain(r, snap) {
			r.Close()
		}
		if !changed {
			return at, nil
		}
	}
}

// catalogAt returns the catalog of a kept state; nil for another time.
func (x *states) catalogAt(at storage.Timestamp) *catalog.Snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := len(x.snapshots) - 1; i >= 0 && x.snapshots[i].reader.ReadTimestamp() >= at; i-- {
		if x.snapshots[i].reader.ReadTimestamp() == at {
			return x.snapshots[i].catalog
		}
	}
	return nil
}

// SetHistoryWindow changes how long the times that SnapshotTime returned stay readable, including
// earlier ones.
func (c *Cluster) SetHistoryWindow(d time.Duration) {
	x := &c.states
	x.mu.Lock()
	x.window = d
	x.mu.Unlock()
	x.expire()
}

// retain keeps a reader, whose state later reads may use, with the catalog of its time, and reports whether it took
// it; otherwise the caller closes the reader: a state of the same time is kept already, whose age begins again at 0, or
// the states are closed.
func (x *states) retain(r storage.Reader, snap *catalog.Snapshot) bool {
	now := x.clock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return false
	}
	for i := len(x.snapshots) - 1; i >= 0 && x.snapshots[i].reader.ReadTimestamp() >= r.ReadTimestamp(); i-- {
		if x.snapshots[i].reader.ReadTimestamp() == r.ReadTimestamp() {
			x.snapshots[i].since = now
			return false
		}
	}
	x.snapshots = append(x.snapshots, heldSnapshot{r, snap, now})
	if len(x.snapshots) > snapshotsMax {
		x.drop(1)
	}
	if x.expiry == nil {
		x.expiry = time.AfterFunc(x.window, x.expire)
	}
	return true
}

// expire closes the states that are too old, and sets the timer for the rest.
func (x *states) expire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	n, now := 0, x.clock()
	for n < len(x.snapshots) && now.Sub(x.snapshots[n].since) >= x.window {
		n++
	}
	x.drop(n)
	if x.expiry != nil {
		x.expiry.Stop()
		x.expiry = nil
	}
	if len(x.snapshots) > 0 {
		x.expiry = time.AfterFunc(max(time.Second, x.window-now.Sub(x.snapshots[0].since)), x.expire)
	}
}

// drop closes the n oldest; mu is held.
func (x *states) drop(n int) {
	for _, s := range x.snapshots[:n] {
		s.reader.Close()
	}
	kept := append(x.snapshots[:0], x.snapshots[n:]...)
	clear(x.snapshots[len(kept):])
	x.snapshots = kept
}

// Close releases what the cluster holds of the store, which may be closed
// afterwards.
func (c *Cluster) Close() {
	x := &c.states
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	if x.expiry != nil {
		x.expiry.Stop()
	}
	x.drop(len(x.snapshots))
	if x.idle != nil {
		x.idle.Stop()
	}
	x.forget(func(*rewoundState) bool { return true })
}
