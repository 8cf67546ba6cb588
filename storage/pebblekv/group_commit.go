package pebblekv

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// syncer makes commits durable by group commit: all commits that wait while a sync of the log runs share the next
// sync. One of them, the leader, writes an empty synced log record, which makes everything applied before it
// durable. The log keeps its order also when it continues in a new file, because Pebble syncs a file before it
// opens the next.
//
// Pebble could also sync the batch of each commit, and group these syncs. One record per group costs less, and the
// durable timestamp and the wake-up of log readers are handled in the same place.
type syncer struct {
	s     *store
	done  atomic.Uint64 // the durable timestamp
	times syncTimes
	mark  *filescan.Mark // stores up to which write the log is synced; nil in memory
	dirty chan struct{}  // receives one value when a Buffered commit requests a sync within SyncInterval

	leaderMu sync.Mutex // held by the leader that syncs
	mu       sync.Mutex // guards the fields below
	next     *syncGroup // the commits that wait for the next sync
	wake     chan struct{}
	stop     bool
}

// syncGroup represents the commits that one sync covers.
type syncGroup struct {
	done chan struct{}
	err  error
}

func (y *syncer) start(s *store) {
	y.s, y.times.now = s, s.o.Clock
	y.dirty = make(chan struct{}, 1)
	y.done.Store(uint64(s.Latest())) // Pebble flushes the log that it replays
}

func (y *syncer) durable() storage.Timestamp { return storage.Timestamp(y.done.Load()) }

// wait returns when the commit at timestamp ts is durable, or with the error of its sync. It has no context,
// because the commit is already visible; callers with a time limit use waitUntil.
func (y *syncer) wait(ts storage.Timestamp) error {
	if y.durable() >= ts {
		return nil
	}
	g, leads := y.join()
	if leads {
		y.lead(g)
	}
	<-g.done
	return g.err
}

// waitUntil waits until the commit at timestamp ts is durable. If ctx ends first, it returns the cause of ctx, and
// the sync continues in the background; a ctx without a deadline is ignored.
func (y *syncer) waitUntil(ctx context.Context, ts storage.Timestamp) error {
	if _, limited := ctx.Deadline(); !limited || y.durable() >= ts {
		return y.wait(ts) // in this goroutine, which is faster
	}
	g, leads := y.join()
	if leads {
		go y.lead(g)
	}
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// join returns the group of commits that the next sync covers, and reports whether the caller has created it. That
// caller is the leader: it must call lead.
func (y *syncer) join() (g *syncGroup, leads bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.next != nil {
		return y.next, false
	}
	y.next = &syncGroup{done: make(chan struct{})}
	return y.next, true
}

// lead syncs the log once for all commits of a group, waits for a running sync first, and then wakes the group.
func (y *syncer) lead(g *syncGroup) {
	y.leaderMu.Lock()
	// Commits that are ready to run may join this sync first, because a sync costs more than they do. If there are
	// none, this returns at once.
	runtime.Gosched()
	y.mu.Lock()
	y.next = nil // commits from here on wait for the next sync
	y.mu.Unlock()
	target, written := y.s.Latest(), y.s.written.Load()
	if y.s.o.InMemory || y.s.o.ReadOnly {
		y.advance(target)
	} else if y.durable() < target {
		begun := y.times.begin()
		g.err = translate(y.s.db.LogData(nil, pebble.Sync))
		switch text, isError := y.times.end(begun); {
		case isError:
			logger{y.s.o}.Errorf("%s", text)
		case text != "":
			logger{y.s.o}.warn(text)
		}
		if g.err == nil {
			y.mark.Set(written)
			y.advance(target)
		}
	}
	y.leaderMu.Unlock()
	close(g.done)
}

// advance records that all commits up to the timestamp ts are durable, and wakes the readers of the log.
func (y *syncer) advance(ts storage.Timestamp) {
	y.mu.Lock()
	if uint64(ts) > y.done.Load() {
		y.done.Store(uint64(ts))
		if y.wake != nil {
			close(y.wake)
			y.wake = nil
		}
	}
	y.mu.Unlock()
}

// requestSync requests a sync within SyncInterval, without waiting for it.
func (y *syncer) requestSync() {
	select {
	case y.dirty <- struct{}{}:
	default:
	}
}

// close syncs all commits up to latest, and wakes the log readers that wait in WaitLog, which returns ErrClosed.
func (y *syncer) close(latest storage.Timestamp) error {
	err := y.wait(latest)
	y.mu.Lock()
	y.stop = true
	if y.wake != nil {
		close(y.wake)
		y.wake = nil
	}
	y.mu.Unlock()
	return err
}

// WaitLog implements storage.Store.
func (s *store) WaitLog(ctx context.Context, after storage.Timestamp) error {
	y := &s.syncer
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if y.durable() > after {
			return nil
		}
		y.mu.Lock()
		if y.stop {
			y.mu.Unlock()
			return storage.ErrClosed
		}
		if y.durable() > after {
			y.mu.Unlock()
			return nil
		}
		if y.wake == nil {
			y.wake = make(chan struct{})
		}
		wake := y.wake
		y.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Sync implements storage.Store.
func (s *store) Sync(ctx context.Context) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	return s.syncer.waitUntil(ctx, s.Latest())
}

// background syncs Buffered commits at the latest after SyncInterval, until Close. Once a second it measures the
// free disk space, as after each flush, deletes logs kept too long, and releases the anchor.
func (s *store) background() {
	disk := time.NewTicker(time.Second)
	defer disk.Stop()
	var due <-chan time.Time
	dirty := s.syncer.dirty
	for {
		select {
		case <-s.stop:
			return
		case now := <-disk.C:
			s.updateSpace()
			s.limitRetained(now)
			s.anchor.release()
		case <-s.diskSpace.flushEnded:
			s.updateSpace()
		case <-dirty:
			// The channel is not read until the sync. A commit meanwhile leaves its mark in it, which starts the
			// next interval.
			due, dirty = time.After(s.o.SyncInterval), nil
		case <-due:
			due, dirty = nil, s.syncer.dirty
			// On an error Pebble has called Fatal.
			_ = s.syncer.wait(s.Latest())
		}
	}
}
