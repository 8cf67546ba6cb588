package status

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/operations"
)

// The only lock that a command holds for its whole duration is the global lock. It admits either writes or the
// holders of fsync's lock, and always admits reads. The modes are MongoDB's: r and w are the intent to read or write,
// R is the mode of fsync.
// Manual: faq/concurrency.

// globalLock is the name of the lock.
const globalLock = "Global"

// lockMode returns the mode in which a command holds the global lock, or will hold it: "w", "r", or "" if never.
func (s *State) lockMode(op *operations.Operation) string {
	switch {
	case op.Writes:
		return "w"
	case s.Lookup(op.Name).Kind == command.KindRead:
		return "r"
	}
	return ""
}

// appendLocks appends to an operation of currentOp the locks that it holds or waits for.
// Manual: reference/command/currentOp#currentOp.locks.
func (s *State) appendLocks(b *bson.Builder, op *operations.Operation, now time.Time) {
	mode, wait := s.lockMode(op), &op.Progress().Locked
	b.BeginDoc("locks")
	if mode != "" {
		b.String(globalLock, mode)
	}
	b.End()
	b.Bool("waitingForLock", wait.Waiting())
	b.BeginDoc("lockStats")
	if mode != "" {
		lockCounts{mode: mode, taken: 1, waited: wait.Total(now)}.append(b)
	}
	b.End()
	b.Bool("waitingForFlowControl", false)
	b.BeginDoc("flowControlStats")
	b.End()
}

// appendNoLocks appends MongoDB's fields about locks, for work without locks.
func appendNoLocks(b *bson.Builder) {
	b.BeginDoc("locks")
	b.End()
	b.Bool("waitingForLock", false)
	b.BeginDoc("lockStats")
	b.End()
	b.Bool("waitingForFlowControl", false)
	b.BeginDoc("flowControlStats")
	b.End()
}

// lockCounts holds the number of acquisitions of the global lock in one mode, the number of waits for it, and their
// total time.
type lockCounts struct {
	mode         string
	taken, waits int64
	waited       time.Duration
}

// append appends the counts of one operation.
func (n lockCounts) append(b *bson.Builder) {
	if n.waited > 0 {
		n.waits = 1
	}
	appendLockCounts(b, n)
}

// appendLockCounts appends the counts of the global lock in each of the given modes.
// Manual: reference/command/serverStatus#locks.
func appendLockCounts(b *bson.Builder, modes ...lockCounts) {
	b.BeginDoc(globalLock)
	b.BeginDoc("acquireCount")
	waits := false
	for _, n := range modes {
		waits = waits || n.waits > 0
		b.Int64(n.mode, n.taken)
	}
	b.End()
	if waits {
		b.BeginDoc("acquireWaitCount")
		for _, n := range modes {
			if n.waits > 0 {
				b.Int64(n.mode, n.waits)
			}
		}
		b.End()
		b.BeginDoc("timeAcquiringMicros")
		for _, n := range modes {
			if n.waits > 0 {
				b.Int64(n.mode, n.waited.Microseconds())
			}
		}
		b.End()
	}
	b.End()
}

// statusLocks appends the section locks of serverStatus.
func (s *State) statusLocks(_ *command.Call, b *bson.Builder) {
	var reads, writes int64
	for _, d := range s.Table() {
		switch {
		case d.Facts.Has(command.Writes):
			writes += d.Counter.Total.Load()
		case d.Kind == command.KindRead:
			reads += d.Counter.Total.Load()
		}
	}
	l := &s.fsyncLock
	l.mu.Lock()
	taken := l.acquired
	l.mu.Unlock()
	appendLockCounts(b, lockCounts{mode: "r", taken: reads},
		lockCounts{mode: "w", taken: writes, waits: l.waits.Load(), waited: time.Duration(l.waited.Load())},
		lockCounts{mode: "R", taken: taken})
}

// runLockInfo replies with the locks that are held, and the operations that wait for them. Only fsync's lock is
// listed, while it is held. Manual: reference/command/lockInfo.
func (s *State) runLockInfo(c *command.Call) error {
	err := c.ReadArgs(arguments.Ignored("includeStorageEngineDump"))
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginArray("lockInfo")
	if s.fsyncLock.count() > 0 {
		b.BeginDoc("")
		b.String("resourceId", globalLock)
		b.BeginArray("granted")
		appendLockRequest(b, "S", "fsync")
		b.End()
		b.BeginArray("pending")
		for _, op := range s.Ops.List() {
			if op.Progress().Locked.Waiting() {
				appendLockRequest(b, "IX", connName(op.Conn.ID()))
			}
		}
		b.End()
		b.End()
	}
	b.End()
	return nil
}

// appendLockRequest appends to lockInfo a holder of a lock, or an operation that waits for it, with the lock's mode.
func appendLockRequest(b *bson.Builder, mode, who string) {
	b.BeginDoc("")
	b.String("mode", mode)
	b.String("convertMode", "NONE")
	b.Bool("enqueueAtFront", false)
	b.Bool("compatibleFirst", false)
	b.String("debugInfo", who)
	b.End()
}
