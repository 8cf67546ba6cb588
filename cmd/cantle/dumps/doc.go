// Package dumps reads and writes dumps in the two forms of mongodump: a folder per database, and archive files.
package dumps

import (
	"strings"

	"github.com/cantledb/cantle/bson"
)

// Collection is one collection of a dump.
type Collection struct {
	DB, Coll string
	Kind     string // collection, view or timeseries
	Data     string // the collection whose documents are read, and the name of the file: Coll, or the collection of its buckets
	Metadata string // Extended JSON, as in the file
}

// NS returns the namespace.
func (d *Collection) NS() string { return d.DB + "." + d.Coll }

// Capped reports whether the metadata of a collection marks it as capped: its documents must keep their order.
func (d *Collection) Capped() bool { return strings.Contains(d.Metadata, `"capped":true`) }

// ByID reports whether the dump reads the collection in the order of _id, so that an interrupted dump can resume at
// an _id.
func (d *Collection) ByID() bool { return d.Kind == "collection" && !d.Capped() }

// BucketsPrefix begins the names of the collections that hold the buckets (packed measurements) of time-series
// collections.
const BucketsPrefix = "system.buckets."

// Sink takes the collections of a dump. Safe for concurrent use.
type Sink interface {
	// Begin begins a collection, and returns the Part that takes its documents; nil if the dump has the collection
	// already.
	Begin(d *Collection) (Part, error)
}

// Part takes the documents of one collection.
type Part interface {
	// Done returns the _id of the last document that an interrupted dump has written already, and the number of such
	// documents; a missing value if there are none.
	Done() (after bson.Value, n int64)
	// Write adds a document.
	Write(doc bson.Raw) error
	// End completes the collection.
	End() error
}
