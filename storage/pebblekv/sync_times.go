package pebblekv

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage"
)

// slowSync is the duration from which a sync of the log counts as slow. While a sync runs longer than stuckSync,
// CheckReachable returns an error.
const (
	slowSync  = 100 * time.Millisecond
	stuckSync = 10 * time.Second
)

// syncTimes counts the syncs of the write-ahead log and measures their duration, for metrics and messages about a
// slow disk. Only one sync runs at a time.
type syncTimes struct {
	now func() time.Time // nil: nothing is measured

	count, nanos, slow atomic.Int64
	running            atomic.Pointer[time.Time] // when the running sync began; nil = none is running

	lastMessage time.Time // when a slow sync was last logged
	suppressed  int
}

func (x *syncTimes) begin() (begun time.Time) {
	if x.now != nil {
		begun = x.now()
		x.running.Store(&begun)
	}
	return begun
}

// end counts a sync that began at begun and has ended. If it was slow, it returns a message to log, at most one
// each messageEvery (10 s), otherwise "".
func (x *syncTimes) end(begun time.Time) string {
	x.count.Add(1)
	if x.now == nil {
		return ""
	}
	now := x.now()
	took := now.Sub(begun)
	x.running.Store(nil)
	x.nanos.Add(int64(took))
	if took < slowSync {
		return ""
	}
	x.slow.Add(1)
	if !x.lastMessage.IsZero() && now.Sub(x.lastMessage) < messageEvery {
		x.suppressed++
		return ""
	}
	text := fmt.Sprintf("the disk is slow: it took %v to sync the log, for which the writes of that time waited", took.Round(time.Millisecond))
	if x.suppressed > 0 {
		text += fmt.Sprintf(" (and more than %v another %d times since the last message)", slowSync, x.suppressed)
	}
	x.lastMessage, x.suppressed = now, 0
	return text
}

// CheckReachable returns ErrUnavailable, with the number of seconds, while a sync of the log has run for more than
// 10 seconds, else nil. Without Options.Clock it always returns nil.
func (s *store) CheckReachable() error {
	begun := s.syncer.times.running.Load()
	if begun == nil {
		return nil
	}
	if took := s.syncer.times.now().Sub(*begun); took > stuckSync {
		return fmt.Errorf("%w: the disk of %s has not synced the log for %d seconds", storage.ErrUnavailable, s.dir, int(took.Seconds()))
	}
	return nil
}
