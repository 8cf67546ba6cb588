package pebblekv

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// pause delays the retry of a flush or compaction that has failed; Pebble would retry some hundred times a second.
// Pebble reports a failure while it holds a lock that all snapshots need, so the report itself must not wait.
// Instead, flushes wait when they create their table, and compactions are not started.
type pause struct{ failures atomic.Int64 } // the number of failures whose pause has not ended

// extend starts a pause for the duration d. If one is on already, both must end.
func (p *pause) extend(d time.Duration) {
	p.failures.Add(1)
	time.AfterFunc(d, func() { p.failures.Add(-1) })
}

// on reports whether background work has to wait now.
func (p *pause) on() bool { return p.failures.Load() > 0 }

// compactionScheduler decides when Pebble's compactions start, for as many at once as Pebble allows. It starts
// none during a pause, without disk space, or while the store is being opened, because a running compaction would
// crash in an open that fails. It implements pebble.CompactionScheduler and, because single compactions need no
// state, also their grant handles.
type compactionScheduler struct {
	failures *failureHandler
	db       pebble.DBForCompaction
	poke     chan struct{} // receives a value when a compaction may be waiting or has ended
	stop     chan struct{}
	ended    chan struct{}
	once     sync.Once

	mu      sync.Mutex
	running int
}

// compactionsEvery is the interval at which waiting compactions are tried again after one could not start.
const compactionsEvery = 100 * time.Millisecond

func newCompactionScheduler(t *failureHandler) *compactionScheduler {
	return &compactionScheduler{failures: t, poke: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
}

// Register implements pebble.CompactionScheduler.
func (c *compactionScheduler) Register(_ int, db pebble.DBForCompaction) {
	c.db = db
	go c.run()
}

// Unregister implements pebble.CompactionScheduler. If the open fails, Pebble does not call it, so openPebble
// does.
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

// take reports whether one more compaction may run now, and counts it as running if so.
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

// run is the goroutine that starts compactions that had to wait. It sleeps while there are none, so that an idle
// server uses no CPU.
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

// grant starts the waiting compactions that may run, and reports whether more are waiting, or may be.
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
