package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/rewind"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Bounds of the states made from the change log that are kept for the next read at the same time:
// their number, their bytes together, and how long they are kept after the last use.
const (
	rewoundMax       = 16
	rewoundBytesMax  = 2 * rewind.LayerBytesMax
	rewoundIdleAfter = time.Minute
)

// rewoundState is a kept state of the store at a past time, computed from the change log because no snapshot of that
// time was kept. Several reads share it. state and names never change;
// states.mu guards the other fields.
type rewoundState struct {
	state    *rewind.State
	names    map[collection.Namespace]keyspace.CollectionID // at that time
	refs     int
	used     time.Time
	detached bool // removed from the list; closed by its last user
}

// rewoundAt returns the state of the store at a past time, a kept one or one made from the change log. It is laid
// over a snapshot that is not older than newer, since when shards and indexes are as in the present catalog. The
// caller gives it back with states.release.
func (c *Cluster) rewoundAt(ctx context.Context, at, newer storage.Timestamp) (*rewoundState, error) {
	x := &c.states
	if p := x.find(at, newer); p != nil {
		return p, nil
	}
	s, err := rewind.Open(ctx, c.store, at, x.since(), c.memory)
	if err != nil {
		return nil, err
	}
	names, err := c.namesAt(ctx, at)
	if err != nil {
		s.Close()
		return nil, err
	}
	p := &rewoundState{state: s, names: names, refs: 1}
	x.add(p)
	return p, nil
}

// namesAt returns the collections that namespaces named at a time. Errors: storage.ErrSnapshotTooOld, the errors of the
// store.
func (c *Cluster) namesAt(ctx context.Context, at storage.Timestamp) (map[collection.Namespace]keyspace.CollectionID, error) {
	names, err := changestream.Numbers(ctx, c.store, c.catalog.Peek, at)
	var lost *mongoerr.Error
	if errors.As(err, &lost) && lost.Code == mongoerr.ChangeStreamHistoryLost {
		return nil, storage.ErrSnapshotTooOld
	}
	return names, err
}

// since returns the beginning of the time window in which past states can be read; SetHistoryWindow sets the length of
// the window.
func (x *states) since() storage.Timestamp {
	x.mu.Lock()
	defer x.mu.Unlock()
	return storage.MakeTimestamp(uint32(max(0, x.clock().Add(-x.window).Unix())), 0)
}

// find returns a kept state of time at over a snapshot that is not older than newer, with one more user; nil if there
// is none.
func (x *states) find(at, newer storage.Timestamp) *rewoundState {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, p := range x.rewound {
		if p.state.At() == at && p.state.Base() >= newer {
			x.rewound = append(slices.Delete(x.rewound, i, i+1), p)
			p.refs++
			return p
		}
	}
	return nil
}

// add keeps a state that has one user.
func (x *states) add(p *rewoundState) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rewound = append(x.rewound, p)
	x.trim()
}

// release gives a state back.
func (x *states) release(p *rewoundState) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p.refs--
	p.used = x.clock()
	if p.detached && p.refs == 0 {
		p.state.Close()
	}
	x.trim()
}

// trim drops the least recently used rewound states until the rest is within the bounds of number and bytes, and
// starts the timer of dropIdle; mu is held.
func (x *states) trim() {
	left, bytes := rewoundMax, int64(rewoundBytesMax)
	for _, p := range slices.Backward(x.rewound) {
		if left, bytes = left-1, bytes-p.state.Bytes(); left < 0 || bytes < 0 {
			break
		}
	}
	if left < 0 || bytes < 0 {
		oldest := x.rewound[0]
		x.forget(func(p *rewoundState) bool { return p == oldest })
		if len(x.rewound) > 0 {
			x.trim()
		}
		return
	}
	if len(x.rewound) > 0 && x.idle == nil && !x.closed {
		x.idle = time.AfterFunc(rewoundIdleAfter, x.dropIdle)
	}
}

// dropIdle drops the states that were not used for rewoundIdleAfter.
func (x *states) dropIdle() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.idle = nil
	now := x.clock()
	x.forget(func(p *rewoundState) bool { return x.closed || p.refs == 0 && now.Sub(p.used) >= rewoundIdleAfter })
	x.trim()
}

// forget drops the rewound states that chosen selects; a state in use is closed by its last user. mu is held.
func (x *states) forget(chosen func(*rewoundState) bool) {
	x.rewound = slices.DeleteFunc(x.rewound, func(p *rewoundState) bool {
		if !chosen(p) {
			return false
		}
		p.detached = true
		if p.refs == 0 {
			p.state.Close()
		}
		return true
	})
}

// checkSameCollection checks that a namespace has named the same collection since an earlier time, so that a read at
// that time may use the present catalog entry. coll is the collection now, nil for none; id is the number of the
// collection then, 0 for none. missing is true if only the present one exists.
// Errors: SnapshotUnavailable (246).
func checkSameCollection(ns collection.Namespace, coll *catalog.Collection, id keyspace.CollectionID) (missing bool, err error) {
	switch {
	case coll == nil && id == 0, coll != nil && coll.ID == id:
		return false, nil
	case coll != nil && id == 0:
		return true, nil
	}
	return false, mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read %s at the wanted time: it was dropped, renamed, resharded or made anew since", ns)
}

// rewoundTxn is the state read by a transaction that began at a time for which no snapshot was
// kept.
type rewoundTxn struct {
	state *rewind.State
	names map[collection.Namespace]keyspace.CollectionID
}

// rewindInTxn prepares a collection for a statement of a transaction that began at a past time: it undoes, in the
// transaction's state, the writes since then. For other transactions it does nothing. Errors: SnapshotUnavailable
// (246), also if the collection did not exist yet; the errors of rewindCollection.
func (c *Cluster) rewindInTxn(o *Op, ns collection.Namespace, coll *catalog.Collection) error {
	t := o.Txn
	if t.rewound == nil || coll != nil && coll.IsView() {
		return nil
	}
	if !t.HasCreated(coll) {
		missing, err := checkSameCollection(ns, coll, t.rewound.names[ns])
		if err != nil {
			return err
		}
		if missing {
			return snapshotUnavailable(ns)
		}
	}
	if coll == nil {
		return nil
	}
	return c.rewindCollection(o, t.rewound.state, coll)
}

// rewindCollection loads into a rewound state, from the change log, what it lacks to show a collection as it was. That
// may take long if much was written since. Errors: SnapshotTooOld (239), SnapshotUnavailable (246); the errors of an
// interruption and of the store.
func (c *Cluster) rewindCollection(o *Op, s *rewind.State, coll *catalog.Collection) error {
	err := s.Load(o.Env, coll)
	if errors.Is(err, rewind.ErrTooMuch) && c.states.dropUnused() {
		err = s.Load(o.Env, coll)
	}
	var unfit *mongoerr.Error
	switch {
	case errors.Is(err, rewind.ErrTooMuch):
		return mongoerr.New(mongoerr.SnapshotTooOld,
			"Too much was written to %s since the wanted time to show it as it was then: it may differ by %d MiB, as far as the server's working memory has room. Read at a later time, or in a session with the option snapshot, whose state is held",
			coll.Namespace, rewind.LayerBytesMax>>20)
	case errors.Is(err, rewind.ErrMultikey), errors.As(err, &unfit) && unfit.Code != mongoerr.Interrupted && unfit.Code != mongoerr.MaxTimeMSExpired:
		return mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read %s at the wanted time: an index made since has no place for its documents as they were", coll.Namespace).Because(err)
	}
	return err
}

// dropUnused drops the rewound states that have no user at the moment, to free memory, and reports whether there were
// any.
func (x *states) dropUnused() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.rewound)
	x.forget(func(p *rewoundState) bool { return p.refs == 0 })
	return len(x.rewound) < n
}
