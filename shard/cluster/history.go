package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
)

// How long, and how many of, the states that snapshot reads have seen are kept
// for further reads at the same time. An old state costs disk: what was
// overwritten since cannot be removed.
// Manual: reference/parameters#minSnapshotHistoryWindowInSeconds.
const (
	HistoryWindow = 5 * time.Minute // unless SetHistoryWindow says otherwise
	historyMax    = 512
)

// history keeps states of the store open that clients know the time of: a
// snapshot session reads on at the time of its first read. The state of any other
// time is made from the change log when it is asked for: see past. Safe for
// concurrent use.
type history struct {
	clock  func() time.Time
	mu     sync.Mutex
	window time.Duration
	kept   []state // oldest first
	expiry *time.Timer
	pasts  []*past // the one used last at the end
	idle   *time.Timer
	closed bool
}

// state is one kept state, with the catalog that held then.
type state struct {
	reader  storage.Reader
	catalog *catalog.Snapshot
	since   time.Time
}

// SnapshotTime returns the newest time, and sees to it that Op.At may be that
// time for a while.
func (c *Cluster) SnapshotTime(ctx context.Context) (storage.Timestamp, error) {
	for {
		snap := c.Catalog.Peek()
		r, err := c.Store.Snapshot(ctx, 0)
		if err != nil {
			return 0, err
		}
		at := r.ReadTimestamp()
		changed := c.Catalog.Peek() != snap
		if changed || !c.history.keep(r, snap) {
			r.Close()
		}
		if !changed {
			return at, nil
		}
	}
}

// catalogAt is the catalog at a time whose state is kept, nil for another time.
func (h *history) catalogAt(at storage.Timestamp) *catalog.Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.kept) - 1; i >= 0 && h.kept[i].reader.ReadTimestamp() >= at; i-- {
		if h.kept[i].reader.ReadTimestamp() == at {
			return h.kept[i].catalog
		}
	}
	return nil
}

// SetHistoryWindow changes how long times that were told stay readable, also those
// told before.
func (c *Cluster) SetHistoryWindow(d time.Duration) {
	h := &c.history
	h.mu.Lock()
	h.window = d
	h.mu.Unlock()
	h.expire()
}

// keep takes a reader unless its state is kept already.
func (h *history) keep(r storage.Reader, snap *catalog.Snapshot) bool {
	now := h.clock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	for i := len(h.kept) - 1; i >= 0 && h.kept[i].reader.ReadTimestamp() >= r.ReadTimestamp(); i-- {
		if h.kept[i].reader.ReadTimestamp() == r.ReadTimestamp() {
			h.kept[i].since = now
			return false
		}
	}
	h.kept = append(h.kept, state{r, snap, now})
	if len(h.kept) > historyMax {
		h.drop(1)
	}
	if h.expiry == nil {
		h.expiry = time.AfterFunc(h.window, h.expire)
	}
	return true
}

// expire closes what is too old, and comes again for the rest.
func (h *history) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	n, now := 0, h.clock()
	for n < len(h.kept) && now.Sub(h.kept[n].since) >= h.window {
		n++
	}
	h.drop(n)
	if h.expiry != nil {
		h.expiry.Stop()
		h.expiry = nil
	}
	if len(h.kept) > 0 {
		h.expiry = time.AfterFunc(max(time.Second, h.window-now.Sub(h.kept[0].since)), h.expire)
	}
}

// drop closes the n oldest; mu is held.
func (h *history) drop(n int) {
	for _, s := range h.kept[:n] {
		s.reader.Close()
	}
	kept := append(h.kept[:0], h.kept[n:]...)
	clear(h.kept[len(kept):])
	h.kept = kept
}

// Close gives back what the cluster holds of the store, which may be closed
// then.
func (c *Cluster) Close() {
	h := &c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.expiry != nil {
		h.expiry.Stop()
	}
	h.drop(len(h.kept))
	if h.idle != nil {
		h.idle.Stop()
	}
	h.forget(func(*past) bool { return true })
}
