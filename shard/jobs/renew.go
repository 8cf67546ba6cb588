package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Renewal is an index that is made again, as its entries are of another version of its kind.
type Renewal struct {
	Namespace string
	Index     string
	From, To  int32 // versions
	// Done says that it is ready again, and Err why it was dropped instead.
	Done bool
	Err  error
}

// renew replaces the outdated indexes of a collection by empty ones that are to be built, in one change, so that none of
// their entries is ever read, and tells of each. The caller holds the collection's Lock.
func (r *Runner) renew(ctx context.Context, c *catalog.Collection) (begun map[keyspace.IndexID]Renewal, err error) {
	if !outdated(c) {
		return nil, nil
	}
	err = r.Catalog.Change(ctx, func(m *catalog.Mutation) error {
		begun = map[keyspace.IndexID]Renewal{}
		c := m.Snapshot().ByID(c.ID)
		if c == nil {
			return errGone
		}
		for _, ix := range c.Indexes {
			if !ix.Outdated || ix.Staged {
				continue
			}
			begun[c.NextIndex] = Renewal{Namespace: c.Namespace.String(), Index: ix.Name, From: ix.KeysVersion, To: ix.Kind.Keys}
			c = c.Renewed(ix.ID)
			if err := Delete(m, c.ID, ix.ID); err != nil {
				return err
			}
		}
		return m.Put(c)
	})
	if err != nil {
		return nil, fmt.Errorf("making the indexes of %s again: %w", c.Namespace, err)
	}
	r.DeleteSoon()
	for _, x := range begun {
		r.Renewing(x)
	}
	return begun, nil
}

// renewed tells how that went.
func (r *Runner) renewed(begun map[keyspace.IndexID]Renewal, err error) {
	for _, x := range begun {
		x.Done, x.Err = true, err
		r.Renewing(x)
	}
}

// outdated reports indexes that are to be made again.
func outdated(c *catalog.Collection) bool {
	return slices.ContainsFunc(c.Indexes, func(ix *catalog.Index) bool { return ix.Outdated && !ix.Staged })
}

// renewUnique makes unique indexes again before anybody writes: while one is built, two documents could get the same values. Of several
// processes others write all the time.
func (r *Runner) renewUnique(ctx context.Context) {
	for _, c := range r.Catalog.Peek().Collections("") {
		if slices.ContainsFunc(c.Indexes, func(ix *catalog.Index) bool { return ix.Outdated && ix.Unique }) {
			r.report("resume", r.complete(r.computes(ctx), c.ID))
		}
	}
}
