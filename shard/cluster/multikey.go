package cluster

import (
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
)

// markMultikey publishes in the catalog that an index contains the elements of arrays (multikey), for the planner. It
// does so before the commit, so that a reader of the entries finds the mark too. A multi-document transaction reads
// its own entries by a catalog of its own, which gets the mark as well.
func (a *attempt) markMultikey(ix *catalog.Index, paths index.MultikeyPaths) error {
	if now := a.c.catalog.Peek().ByID(a.coll.ID); withMark(now, ix, paths) != nil {
		err := a.c.catalog.Change(a.op.Env.Context(), func(m *catalog.Mutation) error {
			now := m.Snapshot().ByID(a.coll.ID)
			if now == nil {
				return errStale
			}
			if marked := withMark(now, ix, paths); marked != nil {
				return m.Put(marked)
			}
			return nil
		})
		if err != nil {
			return err
		}
	} else if now != nil { // another writer has made the mark just now
		if err := a.c.catalog.WaitEntryAppliedByAll(a.op.Env.Context(), now); err != nil {
			return err
		}
	}
	if a.multi {
		if marked := withMark(a.op.Txn.Catalog.ByID(a.coll.ID), ix, paths); marked != nil {
			a.op.Txn.Catalog = a.op.Txn.Catalog.Adopt(marked)
		}
	}
	return nil
}

// withMark returns a catalog entry in which the index has the multikey mark for the given paths; nil if the index has
// that mark already, or the collection or the index is missing.
func withMark(coll *catalog.Collection, ix *catalog.Index, paths index.MultikeyPaths) *catalog.Collection {
	if coll == nil {
		return nil
	}
	for _, x := range coll.Indexes {
		if x.ID == ix.ID && !x.Multikey.Covers(paths) {
			marked := *x
			marked.Multikey = x.Multikey.Union(paths)
			return coll.WithIndex(&marked)
		}
	}
	return nil
}
