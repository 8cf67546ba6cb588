package tikvkv

import (
	"sync/atomic"
	"time"
)

// A read of the newest state needs a time that is not before any commit that has ended. While this
// process alone has the store all commits are its own, and the newest time that it knows is
// not before any that has ended: it needs no new one of the oracle. Three things have to be
// certain for that.
//
//   - The lease is not over, also by this process's own clocks, at a moment after the read came:
//     the oracle is not asked, and a process that slept would answer with a state that others
//     have left behind. Whoever takes over a lease that nobody gave back waits for all of it by
//     a clock of his own, so that a jump of the oracle's times ends no lease early.
//   - No outcome of a commit is unknown: one that has happened is not before the time known,
//     and who is told that nobody knows looks whether it has.
//   - Nobody else has the store: of several processes, each asks the oracle.
//
// Transactions that write ask the oracle all the same: their locks are told apart by their times.

// sureShare is how much of the lease, in quarters, a process trusts by its own clocks: they may
// be slow.
const sureShare = 3

// renewal is when the newest renewal of a lease began, by this process's clocks.
type renewal struct{ begun atomic.Pointer[time.Time] }

// at notes the beginning of a renewal that has succeeded.
func (r *renewal) at(begun time.Time) { r.begun.Store(&begun) }

// fresh reports that the lease of this process was renewed a short while ago by its own clocks.
func (s *store) fresh() bool {
	begun := s.lease.renewed.begun.Load()
	if begun == nil || s.lease.lost.Load() {
		return false
	}
	now := s.o.Clock()
	most := s.o.Lease * sureShare / 4
	wall := now.Round(0).Sub(begun.Round(0))
	return now.Sub(*begun) < most && wall >= 0 && wall < most
}

// alone reports that all commits are this process's own, as long as it has the lease, and that
// it can tell how long that is.
func (s *store) alone() bool { return s.clocked && !s.o.Several }

// sure reports that the lease of this process is not over by its own clocks: neither the one
// that never jumps nor the one that goes on while the machine sleeps.
func (s *store) sure() bool { return s.alone() && s.fresh() }

// known is a time of the oracle that is not before any commit that had ended when it was asked
// for, if this process has one.
func (s *store) known() (uint64, bool) {
	if s.doubts.Load() > 0 {
		return 0, false
	}
	met := s.met.Load()
	return met, s.sure()
}
