package tikvkv

import "sync/atomic"

// cachedTS returns timestamps for reads of the newest state without a request to PD's timestamp oracle.
//
// A read of the newest state needs a PD timestamp that is not before any commit that has ended. If
// this process has the store exclusively, all commits are its own, so the newest timestamp that it
// has seen is sufficient and no request to the oracle is needed. Three conditions must hold:
//
//   - The lease has not expired by this process's own clocks, checked after the read has arrived. The oracle is not
//     queried, so a process that was paused would otherwise return a state that another server has already changed. A
//     server that takes over a lease that was not given back, and did not end over a minute ago, waits for a whole
//     lease by its own clock, so a jump of the oracle's time ends no lease early.
//   - No commit is undetermined. Such a commit may have happened after the newest timestamp seen, and a client
//     with an undetermined write looks whether it has happened.
//   - The store is exclusive and has a clock (Options.Clock): each of several servers queries the oracle.
//
// Write transactions still fetch a timestamp each, because TiKV identifies a transaction and its locks by the start
// timestamp, which must be unique.
type cachedTS struct {
	oracle       *oracle
	lease        *lease
	undetermined atomic.Int64 // undetermined commits
}

// newCachedTS returns a cachedTS of the newest timestamp that o has seen.
func newCachedTS(o *oracle, l *lease) *cachedTS { return &cachedTS{oracle: o, lease: l} }

// readTS returns a PD timestamp for a read of the newest state: it is not before any commit that had ended at the
// time of the call. If this process cannot guarantee that without a request to the oracle, readTS returns false.
func (c *cachedTS) readTS() (uint64, bool) {
	if c.undetermined.Load() > 0 {
		return 0, false
	}
	ts := c.oracle.maxSeenTS.Load()
	return ts, c.lease.exclusiveAndFresh()
}
