package tikvkv

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage"
)

// lease is the right of this process to use the store until a PD timestamp. It is stored in a row of
// the cluster, which membership renews every third of its length. No commit and no snapshot is later than
// the end of the lease. So a process that was paused, and continues when another one has the store, neither
// writes nor reads what that one has written. All ends are PD timestamps: safety does not depend on
// the clock of any server.
//
// If several servers share the store, each member has a row of its own, and no peer takes over its
// lease. If a member renews a lease that had expired, a new lease term begins, and transactions begun
// in an earlier term are not committed.
type lease struct {
	*settings
	life *lifecycle
	id   storage.MemberID
	term atomic.Pointer[leaseTerm]
	lost atomic.Bool // another process has the store

	renewed atomic.Pointer[time.Time] // when the newest successful renewal began, by the clocks of this process
}

// leaseTerm is a lease term: a time without a gap during which this process holds its lease. end is a PD
// timestamp.
type leaseTerm struct{ end atomic.Uint64 }

// newLease returns a lease that has expired, with a new ID.
func newLease(set *settings, life *lifecycle) *lease {
	l := &lease{settings: set, life: life}
	_, _ = rand.Read(l.id[:]) // it never fails
	l.term.Store(&leaseTerm{})
	return l
}

// maxCommitTS returns the newest commit time that the lease allows.
func (l *lease) maxCommitTS() uint64 { return l.term.Load().end.Load() }

// expired reports whether the lease has expired at a PD timestamp.
func (l *lease) expired(ts uint64) bool { return ts > l.maxCommitTS() }

// waitUntilCovers waits until a renewal has extended the lease to the PD timestamp ts or later, for at most the
// timeout of a read. If ctx is of storage.NoLeaseWait, it returns ErrLeaseExpired instead of waiting. Errors:
// ErrUnavailable, ErrLeaseExpired, ErrClosed, ctx.Err().
func (l *lease) waitUntilCovers(ctx context.Context, ts uint64) error {
	if !l.expired(ts) {
		return nil
	}
	if !storage.MayWaitForLease(ctx) {
		return storage.ErrLeaseExpired
	}
	deadline := time.NewTimer(l.limits.read)
	defer deadline.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for l.expired(ts) {
		if l.lost.Load() {
			return fmt.Errorf("%w: another server has taken over the keyspace %s", storage.ErrUnavailable, l.o.Keyspace)
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			return fmt.Errorf("%w: the lease of this server is over and cannot be renewed", storage.ErrUnavailable)
		case <-l.life.stop:
			return storage.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// freshQuarters is the part of a lease, in quarters, for which this process trusts its own clocks after a renewal.
// The last quarter is a margin for slow clocks.
const freshQuarters = 3

// renewedAt notes the time at which a renewal that has succeeded began.
func (l *lease) renewedAt(begun time.Time) { l.renewed.Store(&begun) }

// acquired reports whether this process has acquired the lease, which may have expired since.
func (l *lease) acquired() bool { return l.renewed.Load() != nil }

// fresh reports whether the newest renewal began less than three quarters of a lease ago, and the store is not lost.
// It uses two clocks of this process: the monotonic clock and the wall clock, which goes on while the machine sleeps.
func (l *lease) fresh() bool {
	begun := l.renewed.Load()
	if begun == nil || l.lost.Load() {
		return false
	}
	now := l.o.Clock()
	most := l.o.Lease * freshQuarters / 4
	wall := now.Round(0).Sub(begun.Round(0))
	return now.Sub(*begun) < most && wall >= 0 && wall < most
}

// exclusive reports whether this process has the store exclusively and has a clock to measure its
// lease. Then all commits under the lease are its own.
func (l *lease) exclusive() bool { return l.hasClock && !l.o.Several }

// exclusiveAndFresh reports whether this process has the store exclusively and its lease has certainly not
// expired.
func (l *lease) exclusiveAndFresh() bool { return l.exclusive() && l.fresh() }
