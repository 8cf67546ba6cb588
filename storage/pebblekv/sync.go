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

// syncer makes commits durable by group commit: all that wait while a sync of the log runs
// share the next one. One of them, the leader, writes an empty synced log record, which
// covers everything applied before it. The log keeps that order, also when it changes files,
// because Pebble syncs a file before it opens the next.
//
// Pebble would also group one synced batch per commit. One record per group costs less, and
// the durable timestamp and the wake-up of log readers are handled in the same place.
type syncer struct {
	s     *store
	done  atomic.Uint64 // the durable timestamp
	times syncTimes
	mark  *filescan.Mark // nil in memory; set by the leader
	dirty chan struct{}  // a Buffered commit requests a sync within the interval

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

// wait returns when ts is durable. It takes no context, because the commit is visible
// already; callers with a time limit use waitUntil.
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

// waitUntil is wait with a time limit. If the context ends before ts is durable, it returns
// the cause of the context, and the sync continues.
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

// join returns the group of the next sync. The caller that creates the group has to lead it.
func (y *syncer) join() (g *syncGroup, leads bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.next != nil {
		return y.next, false
	}
	y.next = &syncGroup{done: make(chan struct{})}
	return y.next, true
}

// lead runs the sync of a group.
func (y *syncer) lead(g *syncGroup) {
	y.leaderMu.Lock()
	// Let commits that are ready to run join this sync, which costs more than they do. If
	// there are none, this returns at once.
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
		if text := y.times.end(begun); text != "" {
			logger{y.s.o}.Errorf("%s", text)
		}
		if g.err == nil {
			y.mark.Set(written)
			y.advance(target)
		}
	}
	y.leaderMu.Unlock()
	close(g.done)
}

// advance records that everything up to ts is durable, and wakes log readers.
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

// requestSync requests a sync within the interval.
func (y *syncer) requestSync() {
	select {
	case y.dirty <- struct{}{}:
	default:
	}
}

// close makes everything durable and wakes waiting log readers with ErrClosed.
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

// background syncs Buffered commits and watches the free disk space, until Close.
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
			// A commit during the interval leaves its mark in the channel and so starts the
			// next interval.
			due, dirty = time.After(s.o.SyncInterval), nil
		case <-due:
			due, dirty = nil, s.syncer.dirty
			// On an error Pebble has called Fatal.
			_ = s.syncer.wait(s.Latest())
		}
	}
}
