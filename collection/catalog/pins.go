package catalog

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// pins counts the users of one catalog entry. The count belongs to the entry and not to the
// snapshot, so that a drain does not wait for writers of another collection.
type pins struct {
	refs     atomic.Int64  // the current entry holds one reference
	released chan struct{} // closed when the last reference is dropped
	// replaced is the time at which the entry was replaced; set while mu of the Catalog is held.
	replaced storage.Timestamp
}

func newPins() *pins {
	p := &pins{released: make(chan struct{})}
	p.refs.Store(1)
	return p
}

// pin takes a reference to the entry. It returns false if the last reference has been dropped: the entry was
// replaced, and the caller looks up the new one.
func (p *pins) pin() bool {
	for {
		n := p.refs.Load()
		if n == 0 {
			return false
		}
		if p.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// isReleased reports whether the last reference has been dropped.
func (p *pins) isReleased() bool {
	select {
	case <-p.released:
		return true
	default:
		return false
	}
}

func (p *pins) unpin() {
	if p.refs.Add(-1) == 0 {
		close(p.released)
	}
}

// Unpin releases the entry that Catalog.Pin pinned; c may be nil.
func (c *Collection) Unpin() {
	if c != nil {
		c.pins.unpin()
	}
}

// Pin returns the current snapshot and its entry for a name, nil if there is none. The entry
// is pinned until its Unpin.
func (c *Catalog) Pin(ns collection.Namespace) (*Snapshot, *Collection) {
	for {
		s := c.current.Load()
		if coll := s.byName.get(ns); coll == nil || coll.pins.pin() {
			return s, coll
		}
	}
}

// PinIDs returns the current snapshot and pins its entries for those of the ids that it has, until unpin is called.
func (c *Catalog) PinIDs(ids ...keyspace.CollectionID) (s *Snapshot, unpin func()) {
	var held []*Collection
	unpin = func() {
		for _, coll := range held {
			coll.Unpin()
		}
		held = held[:0]
	}
	for {
		s = c.current.Load()
		gone := slices.ContainsFunc(ids, func(id keyspace.CollectionID) bool {
			coll := s.byID.get(id)
			if coll == nil {
				return false
			}
			if coll.pins.pin() {
				held = append(held, coll)
				return false
			}
			return true
		})
		if !gone {
			return s, unpin
		}
		unpin()
	}
}

// retire drops the catalog's own reference to the entries that a change replaced at the time at, and keeps their pins
// for drains. The caller holds mu.
func (c *Catalog) retire(old *Snapshot, m *Mutation, at storage.Timestamp) {
	for id := range m.touched() {
		if before := old.byID.get(id); before != nil {
			before.pins.replaced = at
			c.retired[id] = append(c.retired[id], before.pins)
			before.pins.unpin()
		}
	}
	for id, list := range c.retired {
		list = slices.DeleteFunc(list, (*pins).isReleased)
		if c.retired[id] = list; len(list) == 0 {
			delete(c.retired, id)
		}
	}
}

// Drain waits until no user of an older entry of a collection is left; the current entry may
// have users. The caller must not hold a pin of the collection. With peers, Drain first applies
// what the store holds, and also waits until no peer uses an older entry of any collection.
func (c *Catalog) Drain(ctx context.Context, id keyspace.CollectionID) error {
	if err := storage.RetryConflicts(ctx, func() error { return c.applyPeerChanges(ctx) }); err != nil {
		return err
	}
	c.mu.Lock()
	old, at := slices.Clone(c.retired[id]), c.changed
	c.mu.Unlock()
	for _, p := range old {
		select {
		case <-p.released:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return c.waitApplied(ctx, at, true)
}
