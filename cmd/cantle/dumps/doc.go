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

// NS is the namespace.
func (d *Collection) NS() string { return d.DB + "." + d.Coll }

// Capped reports a collection that keeps the order of insertion.
func (d *Collection) Capped() bool { return strings.Contains(d.Metadata, `"capped":true`) }

// ByID reports a collection that is read in the order of _id, where an interrupted
// dump can go on.
func (d *Collection) ByID() bool { return d.Kind == "collection" && !d.Capped() }

// BucketsPrefix begins the names of what holds the measurements of time series.
const BucketsPrefix = "system.buckets."

// Sink takes what is dumped. Safe for concurrent use.
type Sink interface {
	// Begin announces a collection; nil says that it is there already.
	Begin(d *Collection) (Part, error)
}

// Part takes the documents of one collection.
type Part interface {
	// Done is which documents are there already: the _id of the last, missing for
	// none, and how many.
	Done() (after bson.Value, n int64)
	Write(doc bson.Raw) error
	End() error
}
