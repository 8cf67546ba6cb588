package pebblekv

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// snap is one state of the store, shared by all readers and transactions opened at it. Its Pebble snapshot (ps) is
// created at its first read or by the next commit. The fields except ps are guarded by store.mu.
type snap struct {
	ts         storage.Timestamp               // the snapshot sees exactly the commits <= ts
	until      storage.Timestamp               // the last timestamp with the same state, just before the next commit; 0 for the newest state
	refs       int                             // open readers and transactions
	ps         atomic.Pointer[pebble.Snapshot] // created on first use
	prev, next *snap                           // in order of ts
}

// snaps is a linked list of the states with open readers, in order of their timestamps. The newest state is always
// its last, even without readers.
type snaps struct{ head, newest *snap }

// pebble returns the Pebble snapshot of a state, and creates it if this is the first read.
func (s *store) pebble(sn *snap) *pebble.Snapshot {
	if ps := sn.ps.Load(); ps != nil {
		return ps
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.materialize(sn)
}

// materialize returns the Pebble snapshot of the newest state, and creates it if necessary. The caller holds
// store.mu. Each commit calls it before it applies its writes, because a snapshot created later would include
// them.
func (s *store) materialize(sn *snap) *pebble.Snapshot {
	ps := sn.ps.Load()
	if ps == nil {
		ps = s.db.NewSnapshot()
		sn.ps.Store(ps)
	}
	return ps
}

// at returns the state at a timestamp, if it is the newest one or has readers, else nil. The caller holds
// store.mu.
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

// advance adds the state of a new commit with timestamp ts as the newest. If the state before has no readers, it
// removes it, and returns its Pebble snapshot for the caller to close, or nil. The caller holds store.mu.
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

// release counts one reader of a state less. If none is left and the state is not the newest, it removes it, and
// returns its Pebble snapshot for the caller to close, or nil. The caller holds store.mu.
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

// oldest returns the timestamp of the oldest state that has a reader, or of the newest state. Deleted data that
// this state sees cannot be removed yet.
func (l *snaps) oldest() storage.Timestamp { return l.head.ts }
