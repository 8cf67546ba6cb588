package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Renewal describes the rebuild of an index whose stored entries have another version than this program writes for
// the index's kind.
type Renewal struct {
	Namespace string
	Index     string
	From, To  int32 // versions
	// Done is true at the end. With Err, the index was dropped or, after an error of the store, waits for the next
	// Resume.
	Done bool
	Err  error
}

// renew replaces the indexes of a collection that have an outdated version of entries by empty ones in state
// Building, in one catalog change, so that none of the old entries is ever read. It reports each to Renewing. The
// caller holds the collection's Lock, and builds the indexes.
func (r *Runner) renew(ctx context.Context, c *catalog.Collection) (begun map[keyspace.IndexID]Renewal, err error) {
	if !outdated(c) {
		return nil, nil
	}
	err = r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
		begun = map[keyspace.IndexID]Renewal{}
		c := m.Snapshot().ByID(c.ID)
		if c == nil {
			return errDropped
		}
		for _, ix := range c.Indexes {
			if !ix.Outdated || ix.Staged {
				continue
			}
			begun[c.NextIndex] = Renewal{Namespace: c.Namespace.String(), Index: ix.Name, From: ix.KeysVersion, To: ix.Kind.Keys}
			c = c.WithIndexRebuild(ix.ID)
			if err := Delete(m, c.ID, ix.ID); err != nil {
				return err
			}
		}
		return m.Put(c)
	})
	if err != nil {
		return nil, fmt.Errorf("making the indexes of %s again: %w", c.Namespace, err)
	}
	r.WakeDelete()
	for _, x := range begun {
		r.Renewing(x)
	}
	return begun, nil
}

// renewed reports the end of the rebuilds to Renewing.
func (r *Runner) renewed(begun map[keyspace.IndexID]Renewal, err error) {
	for _, x := range begun {
		x.Done, x.Err = true, err
		r.Renewing(x)
	}
}

// outdated reports whether the collection has indexes to rebuild.
func outdated(c *catalog.Collection) bool {
	return slices.ContainsFunc(c.Indexes, func(ix *catalog.Index) bool { return ix.Outdated && !ix.Staged })
}

// renewUnique rebuilds the outdated unique indexes before the first write: during the build, two documents could get
// the same values. With peers this is not possible, because they write all the time.
func (r *Runner) renewUnique(ctx context.Context) {
	for _, c := range r.Catalog.Peek().Collections("") {
		if slices.ContainsFunc(c.Indexes, func(ix *catalog.Index) bool { return ix.Outdated && ix.Unique }) {
			r.report("resume", r.complete(r.withSlot(ctx), c.ID))
		}
	}
}
