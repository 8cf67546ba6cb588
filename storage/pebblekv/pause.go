package pebblekv

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// pause delays the retry of background work that has failed; Pebble would retry some hundred
// times a second. Pebble reports a failure while it holds a lock that all snapshots need, so
// the report itself must not wait. Instead, flushes wait when they create their table, and
// compactions are not started.
type pause struct{ failures atomic.Int64 } // recent failures

// extend starts a pause, or extends it.
func (p *pause) extend(d time.Duration) {
	p.failures.Add(1)
	time.AfterFunc(d, func() { p.failures.Add(-1) })
}

// on reports whether there is a pause.
func (p *pause) on() bool { return p.failures.Load() > 0 }

// compactionScheduler lets as many compactions run at once as Pebble allows. It starts none during a
// pause or while the store is being opened, because a running compaction would crash in an
// open that fails. It implements pebble.CompactionScheduler and, because single compactions
// need no state, also their grant handles.
type compactionScheduler struct {
	failures *failureHandler
	db       pebble.DBForCompaction
	poke     chan struct{} // there may be room for a compaction, or one may be waiting
	stop     chan struct{}
	ended    chan struct{}
	once     sync.Once

	mu      sync.Mutex
	running int
}

// compactionsEvery is the interval at which Pebble is checked for waiting compactions after
// one was refused.
const compactionsEvery = 100 * time.Millisecond

func newCompactionScheduler(t *failureHandler) *compactionScheduler {
	return &compactionScheduler{failures: t, poke: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
}

// Register implements pebble.CompactionScheduler.
func (c *compactionScheduler) Register(_ int, db pebble.DBForCompaction) {
	c.db = db
	go c.run()
}

// Unregister implements pebble.CompactionScheduler. Pebble does not call it if the open
// fails.
func (c *compactionScheduler) Unregister() {
	c.once.Do(func() { close(c.stop) })
	if c.db != nil {
		<-c.ended
	}
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *compactionScheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
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

// take counts one more compaction, if it may run.
func (c *compactionScheduler) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures.opening.Load() || c.failures.pause.on() || !c.failures.diskSpace.mayCompact() || c.running >= c.db.GetAllowedWithoutPermission() {
		return false
	}
	c.running++
	return true
}

// give counts one compaction less.
func (c *compactionScheduler) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (c *compactionScheduler) UpdateGetAllowedWithoutPermission() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// run starts waiting compactions. It sleeps while there are none, so that an idle server uses
// no CPU.
func (c *compactionScheduler) run() {
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

// grant starts the compactions that may run, and reports whether more wait or may wait.
func (c *compactionScheduler) grant() bool {
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
func (c *compactionScheduler) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (c *compactionScheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (c *compactionScheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (c *compactionScheduler) Done() {
	c.give()
	c.UpdateGetAllowedWithoutPermission()
}
