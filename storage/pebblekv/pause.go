package pebblekv

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// pause keeps background work that has failed from being tried again at once, some
// hundred times a second. Pebble reports a failure while it holds the lock that all
// snapshots need, so nobody may wait there; flushes wait where they make their table, and
// compactions are not begun.
type pause struct{ failures atomic.Int64 } // those that are not long ago

// extend begins a pause, or makes it longer.
func (p *pause) extend(d time.Duration) {
	p.failures.Add(1)
	time.AfterFunc(d, func() { p.failures.Add(-1) })
}

// on reports that there is a pause.
func (p *pause) on() bool { return p.failures.Load() > 0 }

// compactions lets as many compactions run at once as Pebble wants, and begins none
// during the pause, nor while the store is being opened: one that ran would trip over an
// opening that fails. It implements pebble.CompactionScheduler and, as nothing is to be
// said of a single one, the grant of each.
type compactions struct {
	of    *troubles
	db    pebble.DBForCompaction
	poke  chan struct{} // there may be room, or something waits for it
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex
	running int
}

// compactionsEvery is how often Pebble is asked what waits, once it was refused a compaction.
const compactionsEvery = 100 * time.Millisecond

func newCompactions(t *troubles) *compactions {
	return &compactions{of: t, poke: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
}

// Register implements pebble.CompactionScheduler.
func (c *compactions) Register(_ int, db pebble.DBForCompaction) {
	c.db = db
	go c.run()
}

// Unregister implements pebble.CompactionScheduler. Pebble forgets it when its opening fails.
func (c *compactions) Unregister() {
	c.once.Do(func() { close(c.stop) })
	if c.db != nil {
		<-c.ended
	}
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	select {
	case <-c.stop:
		return false, nil
	default:
	}
	if !c.take() {
		c.UpdateGetAllowedWithoutPermission()
		return false, nil
	}
	return true, c
}

// take counts one more compaction if it may run.
func (c *compactions) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of.opening.Load() || c.of.pause.on() || !c.of.room.compacts() || c.running >= c.db.GetAllowedWithoutPermission() {
		return false
	}
	c.running++
	return true
}

// give counts one less.
func (c *compactions) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (c *compactions) UpdateGetAllowedWithoutPermission() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// run lets begin what waits. While nothing does it sleeps: an idle server is to cost nothing.
func (c *compactions) run() {
	defer close(c.ended)
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-c.poke:
		case <-c.stop:
			return
		}
		if c.grant() {
			again.Reset(compactionsEvery)
		}
	}
}

// grant lets begin what may, and reports whether more waits, or may wait.
func (c *compactions) grant() bool {
	for c.take() {
		waits, _ := c.db.GetWaitingCompaction()
		if !waits || !c.db.Schedule(c) {
			c.give()
			return waits
		}
	}
	return true
}

// Started implements pebble.CompactionGrantHandle.
func (c *compactions) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (c *compactions) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (c *compactions) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (c *compactions) Done() {
	c.give()
	c.UpdateGetAllowedWithoutPermission()
}
