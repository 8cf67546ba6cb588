package pebblekv

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage"
)

// slowSync is how long a sync takes on a disk that is slow, and stuckSync on one that may not
// answer any more.
const (
	slowSync  = 100 * time.Millisecond
	stuckSync = 10 * time.Second
)

// syncTimes are how long syncs take. One runs at a time.
type syncTimes struct {
	now func() time.Time // nil: nobody measures

	count, nanos, slow atomic.Int64
	running            atomic.Pointer[time.Time] // when the one that runs began; nil = none runs

	said   time.Time // when it was last said that the disk is slow
	unsaid int
}

func (x *syncTimes) begin() (begun time.Time) {
	if x.now != nil {
		begun = x.now()
		x.running.Store(&begun)
	}
	return begun
}

// end is called when a sync that began then has ended. It returns what to log, "" for nothing.
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
	if !x.said.IsZero() && now.Sub(x.said) < troubleEvery {
		x.unsaid++
		return ""
	}
	text := fmt.Sprintf("the disk is slow: it took %v to sync the log, for which the writes of that time waited", took.Round(time.Millisecond))
	if x.unsaid > 0 {
		text += fmt.Sprintf(" (and more than %v another %d times since the last message)", slowSync, x.unsaid)
	}
	x.said, x.unsaid = now, 0
	return text
}

// Away is nil while the disk takes what is written. Errors: ErrUnavailable, with how long it
// has not.
func (s *store) Away() error {
	begun := s.syncer.times.running.Load()
	if begun == nil {
		return nil
	}
	if took := s.syncer.times.now().Sub(*begun); took > stuckSync {
		return fmt.Errorf("%w: the disk of %s has not synced the log for %d seconds", storage.ErrUnavailable, s.dir, int(took.Seconds()))
	}
	return nil
}
