package catalog

import (
	"context"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
)

// formats are what an entry can have that programs of an earlier format of the store would misread.
var formats = []struct {
	version int // the first that reads it; see storage
	has     func(c *Collection) bool
}{
	{storage.FormatIndexes, func(c *Collection) bool {
		for _, ix := range c.Indexes {
			if !ix.Outdated && ix.Kind.Keys > 0 {
				return true
			}
		}
		return false
	}},
}

// raise lets programs refuse the store from now on that would misread what a change is about to put into it. What several processes
// share has a level of its own.
func (c *Catalog) raise(ctx context.Context, m *Mutation) error {
	store, ok := c.store.(storage.Formatted)
	if !ok {
		return nil
	}
	for _, f := range formats {
		if f.version <= c.format {
			continue
		}
		for _, coll := range m.puts {
			if f.has(coll) {
				if err := store.RaiseFormat(ctx, f.version); err != nil {
					return err
				}
				c.format = f.version
				break
			}
		}
	}
	return nil
}

// forms are parts of a collection that have versions of their own, by their names in its entry; an entry that does not name one has the
// first. A change by which a form would be read otherwise raises its number, and says in decodeCollection how the one before is
// read or when it is written anew.
var forms = []struct {
	name  string
	known int64 // the newest that this program reads
}{
	{"entryForm", 0},    // the entry itself
	{"recordForm", 0},   // the values of records
	{"positionForm", 0}, // their keys: hashes, and encodings of shard keys and _ids
}

// checkForms refuses an entry of a later program. Errors: ErrFormat.
func checkForms(r bson.Raw) error {
	for _, f := range forms {
		if n := number(r, f.name); n > f.known {
			return fmt.Errorf("%w: %s of %s.%s is %d, this program knows up to %d", storage.ErrFormat, f.name, text(r, "db"), text(r, "coll"), n, f.known)
		}
	}
	return nil
}
