package pebblekv

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// snap is one state of the store, shared by all readers and transactions opened at
// it. The fields except ps are guarded by store.mu.
type snap struct {
	ts         storage.Timestamp               // sees exactly the commits <= ts
	until      storage.Timestamp               // the last timestamp that it represents too; 0 while it is the newest
	refs       int                             // open readers and transactions
	ps         atomic.Pointer[pebble.Snapshot] // created on first use
	prev, next *snap                           // in order of ts
}

// snaps is a list of the snaps with references, with the newest one at its end.
type snaps struct{ head, newest *snap }

// pebble returns the Pebble snapshot.
func (s *store) pebble(sn *snap) *pebble.Snapshot {
	if ps := sn.ps.Load(); ps != nil {
		return ps
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.materialize(sn)
}

// materialize creates the Pebble snapshot of the newest state; store.mu is held.
// While a commit is being applied, the snapshot must exist already.
func (s *store) materialize(sn *snap) *pebble.Snapshot {
	ps := sn.ps.Load()
	if ps == nil {
		ps = s.db.NewSnapshot()
		sn.ps.Store(ps)
	}
	return ps
}

// at returns the open state of a timestamp, nil if there is none; store.mu is held.
func (l *snaps) at(ts storage.Timestamp) *snap {
	for sn := l.newest; sn != nil; sn = sn.prev {
		if sn.ts <= ts {
			if sn == l.newest && ts == sn.ts || ts <= sn.until {
				return sn
			}
			return nil
		}
	}
	return nil
}

// advance makes ts the newest state and returns a Pebble snapshot to close, or
// nil; store.mu is held.
func (l *snaps) advance(ts storage.Timestamp) (unused *pebble.Snapshot) {
	old := l.newest
	old.until = ts - 1
	l.newest = &snap{ts: ts, prev: old}
	old.next = l.newest
	if old.refs == 0 {
		l.remove(old)
		return old.ps.Load()
	}
	return nil
}

// release drops a reference and returns a Pebble snapshot to close, or nil;
// store.mu is held.
func (l *snaps) release(sn *snap) (unused *pebble.Snapshot) {
	sn.refs--
	if sn.refs > 0 || sn == l.newest {
		return nil
	}
	l.remove(sn)
	return sn.ps.Load()
}

func (l *snaps) remove(sn *snap) {
	if sn.prev != nil {
		sn.prev.next = sn.next
	} else {
		l.head = sn.next
	}
	sn.next.prev = sn.prev
}

// oldest returns the timestamp of the oldest state that has a reader, or of the
// newest state.
func (l *snaps) oldest() storage.Timestamp { return l.head.ts }
