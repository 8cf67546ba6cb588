package catalog

import (
	"context"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// DiskSizes is how many bytes a collection takes of the files of the store.
type DiskSizes struct {
	Documents uint64
	Indexes   []IndexDiskSize // in the order of Collection.Shown, without an _id_ that is the documents
}

// IndexDiskSize is how many bytes an index takes of them.
type IndexDiskSize struct {
	Name  string
	Bytes uint64
}

// DiskSizes measures a collection in a store. ok is false if the files of the store are not this server's, or cannot
// be measured now.
func (c *Collection) DiskSizes(ctx context.Context, s storage.Store) (z DiskSizes, ok bool) {
	store, ok := s.(storage.Compactor)
	if !ok {
		return z, false
	}
	var err error
	if z.Documents, err = store.RangeBytes(ctx, keyspace.RecordRange(c.ID)); err != nil {
		return z, false // a store that is being closed, or damaged
	}
	for _, ix := range c.Shown() {
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
