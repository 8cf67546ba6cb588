package pebblekv

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage"
)

// slowSync is the duration from which a sync of the log counts as slow and is logged as a warning; from verySlowSync it
// is logged as an error. While a sync runs longer than stuckSync, CheckReachable returns an error.
const (
	slowSync     = 100 * time.Millisecond
	verySlowSync = time.Second
	stuckSync    = 10 * time.Second
)

// syncTimes counts the syncs of the write-ahead log and measures their duration, for metrics and messages about a
// slow disk. Only one sync runs at a time.
type syncTimes struct {
	now func() time.Time // nil: nothing is measured

	count, nanos, slow atomic.Int64
	running            atomic.Pointer[time.Time] // when the running sync began; nil = none is running

	lastWarning, lastError time.Time // when a slow or a very slow sync was last logged
	suppressed             int
}

func (x *syncTimes) begin() (begun time.Time) {
	if x.now != nil {
		begun = x.now()
		x.running.Store(&begun)
	}
	return begun
}

// syncWarningEvery is the interval between warnings of slow syncs. A disk that is shared with other programs is slow
// every now and then. Errors are logged each messageEvery (10 s).
const syncWarningEvery = time.Minute

// end counts a sync that began at begun and has ended. If it was slow, it returns a message to log, otherwise "".
// isError means that it was very slow.
func (x *syncTimes) end(begun time.Time) (text string, isError bool) {
	x.count.Add(1)
	if x.now == nil {
		return "", false
	}
	now := x.now()
	took := now.Sub(begun)
	x.running.Store(nil)
	x.nanos.Add(int64(took))
	if took < slowSync {
		return "", false
	}
	x.slow.Add(1)
	last, every := &x.lastWarning, syncWarningEvery
	if isError = took >= verySlowSync; isError {
		last, every = &x.lastError, messageEvery
	}
	if !last.IsZero() && now.Sub(*last) < every {
		x.suppressed++
		return "", false
	}
	text = fmt.Sprintf("the disk is slow: it took %v to sync the log, for which the writes of that time waited", took.Round(time.Millisecond))
	if x.suppressed > 0 {
		text += fmt.Sprintf(" (slow syncs since the last message: %d)", x.suppressed)
	}
	*last, x.suppressed = now, 0
	return text, isError
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
