package catalog

import (
	"context"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
)

// formats lists features of an entry that programs of an earlier format version of the store would misread.
var formats = []struct {
	version int // the first format version that includes the feature; see storage
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

// raise raises the format version of the store, before the change m is written, if an entry of m has a feature that
// programs of an earlier format version would misread: such programs then refuse to open the store. A store that is
// not storage.Formatted is left alone.
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

// forms are parts of a collection that have versions of their own, by their names in the catalog entry. An
// entry without such a name has the first version. A change that alters how a form is read increases its
// number, and decodeCollection then describes how the previous version is read or when it is rewritten.
var forms = []struct {
	name  string
	known int64 // the newest version that this program reads
}{
	{"entryForm", 0},    // the entry itself
	{"recordForm", 0},   // the values of records
	{"positionForm", 0}, // their keys: hashes, and encodings of shard keys and _ids
}

// checkForms rejects an entry written by a later program. Errors: ErrFormat.
func checkForms(r bson.Raw) error {
	for _, f := range forms {
		if n := number(r, f.name); n > f.known {
			return fmt.Errorf("%w: %s of %s.%s is %d, this program knows up to %d", storage.ErrFormat, f.name, text(r, "db"), text(r, "coll"), n, f.known)
		}
	}
	return nil
}
