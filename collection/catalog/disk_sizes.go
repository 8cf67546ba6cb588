package catalog

import (
	"context"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// DiskSizes holds how many bytes of the store's files a collection occupies.
type DiskSizes struct {
	Documents uint64
	Indexes   []IndexDiskSize // in the order of Collection.UnstagedIndexes, without an _id_ that has no entries of its own
}

// IndexDiskSize holds how many bytes of the store's files an index occupies.
type IndexDiskSize struct {
	Name  string
	Bytes uint64
}

// DiskSizes returns how many bytes of the store's files the documents and each index of the collection occupy. ok is
// false if the store's files do not belong to this server, or cannot be measured at the moment.
func (c *Collection) DiskSizes(ctx context.Context, s storage.Store) (z DiskSizes, ok bool) {
	store, ok := s.(storage.Compactor)
	if !ok {
		return z, false
	}
	var err error
	if z.Documents, err = store.RangeBytes(ctx, keyspace.RecordRange(c.ID)); err != nil {
		return z, false // the store is being closed, or is damaged
	}
	for _, ix := range c.UnstagedIndexes() {
		if ix.ID == c.IDIndex().ID && !c.PhysicalID() {
			continue
		}
		n, err := store.RangeBytes(ctx, keyspace.IndexRange(c.ID, ix.ID))
		if err != nil {
			return z, false
		}
		z.Indexes = append(z.Indexes, IndexDiskSize{ix.Name, n})
	}
	return z, true
}
