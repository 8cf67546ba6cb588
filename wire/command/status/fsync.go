package status

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// fsyncLock is the lock by which the command fsync blocks writes. It counts how often it was acquired and not
// released, and any client can release it. It is safe for concurrent use.
type fsyncLock struct {
	on      atomic.Bool  // the lock is held: the only field that a write reads while it is free
	writing atomic.Int64 // running writes

	mu       sync.Mutex
	held     int64
	acquired int64         // acquisitions since the start
	released chan struct{} // closed when held falls to 0

	waits  atomic.Int64 // writes that had to wait
	waited atomic.Int64 // their waiting time, in nanoseconds
}

// EnterWrite waits until fsync's lock is free and counts a running write; LeaveWrite must follow. If the context of
// the command ends first, EnterWrite counts no write and returns the context's cause. The block of users' writes is
// checked after the write has been counted: setUserWriteBlockMode can then wait for every write that passed the
// check.
func (s *State) EnterWrite(c *command.Call) error {
	l := &s.fsyncLock
	l.writing.Add(1)
	if !l.on.Load() {
		c.Op.WriteBlock = s.writeBlock.refusal(c)
		return nil
	}
	l.leave()
	p := c.Progress()
	p.Locked.Begin(s.Cluster.Now())
	err := l.enter(c.Ctx)
	now := s.Cluster.Now()
	p.Locked.End(now)
	l.waits.Add(1)
	l.waited.Add(int64(p.Locked.Total(now)))
	if err == nil {
		c.Op.WriteBlock = s.writeBlock.refusal(c)
	}
	return err
}

// LeaveWrite ends the count that EnterWrite began for a write.
func (s *State) LeaveWrite() { s.fsyncLock.leave() }

// enter waits until fsync's lock is free, and counts a running write. If ctx ends first, it returns the cause of ctx.
func (l *fsyncLock) enter(ctx context.Context) error {
	for {
		l.writing.Add(1)
		if !l.on.Load() {
			return nil
		}
		l.leave()
		l.mu.Lock()
		free := l.released
		l.mu.Unlock()
		if free == nil {
			continue
		}
		select {
		case <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leave ends the count that enter began for a write.
func (l *fsyncLock) leave() { l.writing.Add(-1) }

// lock acquires the lock once more, and waits for the running writes, at most for limit. held is the number of
// acquisitions that have not been released.
// Errors: LockTimeout (24), ctx's cause.
func (l *fsyncLock) lock(ctx context.Context, limit time.Duration) (held int64, err error) {
	l.mu.Lock()
	if l.held == 0 {
		l.released = make(chan struct{})
		l.on.Store(true)
	}
	l.held++
	l.acquired++
	held = l.held
	l.mu.Unlock()
	if err := l.drain(ctx, limit); err != nil {
		l.unlock()
		return 0, err
	}
	return held, nil
}

// drain waits until no write is running, at most for limit; a limit of 0 is none.
// Errors: LockTimeout (24), ctx's cause.
func (l *fsyncLock) drain(ctx context.Context, limit time.Duration) error {
	for end := time.Now().Add(limit); l.writing.Load() > 0; {
		if err := command.Wait(ctx, time.Millisecond); err != nil {
			return err
		}
		if limit > 0 && time.Now().After(end) {
			return mongoerr.New(mongoerr.LockTimeout, "Fsync lock timed out")
		}
	}
	return nil
}

// unlock releases one acquisition of the lock, and returns how many are left; ok is false if the lock was not held.
func (l *fsyncLock) unlock() (held int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == 0 {
		return 0, false
	}
	if l.held--; l.held == 0 {
		l.on.Store(false)
		close(l.released)
		l.released = nil
	}
	return l.held, true
}

// count returns how often the lock is held.
func (l *fsyncLock) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// runFsync makes all committed writes durable. With lock it first blocks further writes, until fsyncUnlock; lock is
// refused unless the server is exclusive.
// Manual: reference/command/fsync.
func (s *State) runFsync(c *command.Call) error {
	lock := false
	limit := 90 * time.Second
	err := c.ReadArgs(
		arguments.Bool("lock", &lock),
		arguments.By("fsyncLockAcquisitionTimeoutMillis", func(v bson.Value) error {
			n, ok := v.Int32()
			if !ok || v.Type != bson.TypeInt32 {
				return mongoerr.WrongType(c.Field("fsyncLockAcquisitionTimeoutMillis"), v.Type.String(), "int")
			}
			limit = time.Duration(n) * time.Millisecond
			return nil
		}),
	)
	if err != nil {
		return err
	}
	if !lock {
		if err := c.Cluster.Sync(c.Ctx); err != nil {
			return err
		}
		c.Reply.Int32("numFiles", 1)
		return nil
	}
	if !c.Cluster.Exclusive() {
		return mongoerr.New(mongoerr.CommandNotSupported, "fsync cannot lock a database that several servers share: the others would go on writing. Back the cluster up with its own tools, or a database with cantle dump")
	}
	held, err := s.fsyncLock.lock(c.Ctx, limit)
	if err != nil {
		return err
	}
	if err := c.Cluster.Sync(c.Ctx); err != nil {
		s.fsyncLock.unlock()
		return err
	}
	b := c.Reply
	b.String("info", "now locked against writes, use db.fsyncUnlock() to unlock")
	b.Int64("lockCount", held)
	b.String("seeAlso", "http://dochub.mongodb.org/core/fsynccommand")
	return nil
}

// runFsyncUnlock releases the lock. Unknown arguments are ignored.
// Manual: reference/command/fsyncUnlock.
func (s *State) runFsyncUnlock(c *command.Call) error {
	held, ok := s.fsyncLock.unlock()
	if !ok {
		return mongoerr.New(mongoerr.IllegalOperation, "fsyncUnlock called when not locked")
	}
	c.Reply.String("info", "fsyncUnlock completed")
	c.Reply.Int64("lockCount", held)
	return nil
}
