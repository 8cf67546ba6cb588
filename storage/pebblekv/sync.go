package pebblekv

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/wreck"
)

// syncer makes commits durable in groups: all that wait while one sync of the log
// runs share the next. One of them, the leader, writes an empty synced log record,
// which covers everything applied before it; the log keeps that order, also when
// it changes files, because Pebble syncs a file before it opens the next.
//
// Pebble would group one synced batch per commit as well; one record per group
// costs less, and the same place knows what is durable and wakes log readers.
type syncer struct {
	s     *store
	done  atomic.Uint64 // durable up to here
	times syncTimes
	mark  *wreck.Mark   // nil in memory; set by the leader
	dirty chan struct{} // a Buffered commit wants a sync within the interval

	turn sync.Mutex // held by the leader that syncs
	mu   sync.Mutex // the fields below
	next *syncGroup // who waits for the next sync
	wake chan struct{}
	stop bool
}

// syncGroup is the commits one sync covers.
type syncGroup struct {
	done chan struct{}
	err  error
}

func (y *syncer) start(s *store) {
	y.s, y.times.now = s, s.o.Clock
	y.dirty = make(chan struct{}, 1)
	y.done.Store(uint64(s.Latest())) // Pebble flushes what it replays
}

func (y *syncer) durable() storage.Timestamp { return storage.Timestamp(y.done.Load()) }

// wait returns when ts is durable. The commit is visible already, so it does not look at a
// context: see waitUntil for who must not wait for ever.
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

// waitUntil is wait for those who have a time limit and can tell that it is not known yet
// whether a commit is durable. Errors: the context's, while the sync goes on.
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

// join is the group of the next sync; who makes it leads it.
func (y *syncer) join() (g *syncGroup, leads bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.next != nil {
		return y.next, false
	}
	y.next = &syncGroup{done: make(chan struct{})}
	return y.next, true
}

// lead syncs for a group.
func (y *syncer) lead(g *syncGroup) {
	y.turn.Lock()
	// Commits that could run now take part in this sync, which costs more than
	// they do; without any this returns at once.
	runtime.Gosched()
	y.mu.Lock()
	y.next = nil // from here on others wait for the sync after this one
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
	y.turn.Unlock()
	close(g.done)
}

// advance records that everything up to ts is durable and wakes log readers.
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

// soon asks for a sync within the interval.
func (y *syncer) soon() {
	select {
	case y.dirty <- struct{}{}:
	default:
	}
}

// close makes everything durable and turns waiting log readers away.
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

// background syncs what Buffered commits left and watches the room on the disk, until Close.
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
			s.watchRoom()
			s.limitKept(now)
			s.anchor.lift()
		case <-s.room.changed:
			s.watchRoom()
		case <-dirty:
			// A commit that comes during the interval leaves its mark in the
			// channel and starts the next one.
			due, dirty = time.After(s.o.SyncInterval), nil
		case <-due:
			due, dirty = nil, s.syncer.dirty
			// On an error Pebble has called Fatal.
			_ = s.syncer.wait(s.Latest())
		}
	}
}
