package tikvkv

import (
	"sync/atomic"
	"time"
)

// A read of the newest state needs a PD timestamp that is not before any commit that has ended. If
// this process has the store exclusively, all commits are its own, so the newest timestamp that it
// has seen is sufficient and no request to the oracle is needed. Three conditions must hold:
//
//   - The lease has not expired by this process's own clocks, checked after the read has arrived. The oracle is
//     not queried, so a process that was paused would otherwise return a state that another server has already
//     changed. A server that takes over a lease that was not given back waits for a whole lease by its own clock,
//     so a jump of the oracle's time ends no lease early.
//   - No commit is undetermined. Such a commit may have happened after the newest timestamp seen, and a client
//     with an undetermined write looks whether it has happened.
//   - The store is exclusive: each of several servers queries the oracle.
//
// Write transactions still fetch a timestamp, because TiKV identifies their locks by start
// timestamp.

// freshQuarters is the part of the lease, in quarters, that a process trusts by its own clocks: they
// may be slow.
const freshQuarters = 3

// renewal holds the time at which the newest successful renewal of the lease began, by this
// process's clocks.
type renewal struct{ begun atomic.Pointer[time.Time] }

// at stores the time at which a renewal that has succeeded began.
func (r *renewal) at(begun time.Time) { r.begun.Store(&begun) }

// leaseFresh reports whether the lease of this process was renewed within three quarters of its length,
// by this process's clocks: both the monotonic clock and the wall clock, which goes on while the
// machine sleeps.
func (s *store) leaseFresh() bool {
	begun := s.lease.lastRenewal.begun.Load()
	if begun == nil || s.lease.lost.Load() {
		return false
	}
	now := s.o.Clock()
	most := s.o.Lease * freshQuarters / 4
	wall := now.Round(0).Sub(begun.Round(0))
	return now.Sub(*begun) < most && wall >= 0 && wall < most
}

// exclusive reports whether this process has the store exclusively and has a clock to measure its
// lease. Then all commits under the lease are its own.
func (s *store) exclusive() bool { return s.hasClock && !s.o.Several }

// exclusiveAndFresh reports whether this process has the store exclusively and its lease has certainly not
// expired.
func (s *store) exclusiveAndFresh() bool { return s.exclusive() && s.leaseFresh() }

// known returns a PD timestamp that is not before any commit that had ended at the time of the
// call, if this process has one without a request to the oracle.
func (s *store) known() (uint64, bool) {
	if s.undetermined.Load() > 0 {
		return 0, false
	}
	met := s.maxSeenTS.Load()
	return met, s.exclusiveAndFresh()
}
