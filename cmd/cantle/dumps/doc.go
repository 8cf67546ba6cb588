// Package dumps reads and writes dumps in mongodump's two layouts: a folder per database, and
// archives.
package dumps

import (
	"strings"

	"github.com/cantledb/cantle/bson"
)

// Collection is one collection of a dump.
type Collection struct {
	DB, Coll string
	Kind     string // collection, view or timeseries
	Data     string // the collection that is read, and names the file: Coll, or its buckets
	Metadata string // Extended JSON, as in the file
}

// NS returns the namespace.
func (d *Collection) NS() string { return d.DB + "." + d.Coll }

// Capped reports whether a collection keeps the order of insertion.
func (d *Collection) Capped() bool { return strings.Contains(d.Metadata, `"capped":true`) }

// ByID reports whether a collection is read in the order of _id, so that an interrupted dump can resume.
func (d *Collection) ByID() bool { return d.Kind == "collection" && !d.Capped() }

// BucketsPrefix begins the names of the collections with the measurements of time series.
const BucketsPrefix = "system.buckets."

// Sink takes the collections of a dump. Safe for concurrent use.
type Sink interface {
	// Begin begins a collection; it returns nil for one that is there already.
	Begin(d *Collection) (Part, error)
}

// Part takes the documents of one collection.
type Part interface {
	// Done returns the _id of the last document that is there already, missing for
	// none, and the number of such documents.
	Done() (after bson.Value, n int64)
	// Write adds a document.
	Write(doc bson.Raw) error
	// End completes the collection.
	End() error
}
