package plan

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/project"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/text"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Node is one step of a plan, such as an index scan or a sort. Immutable, safe for concurrent use.
type Node interface {
	// Stage returns the name that explain prints, such as IXSCAN.
	Stage() string
	// Inputs returns the nodes that the node reads from.
	Inputs() []Node
	// Describe appends the node's own fields of explain, without stage and inputs.
	Describe(b *bson.Builder)
}

// RecordBounds restricts a scan of records to ranges of positions, or to ranges of _id in an unsharded
// collection. A nil Ranges means every position of the shard; otherwise the scan reads the part of Ranges that
// the shard owns. A nil IDs means every _id. The ranges are ascending and do not overlap.
type RecordBounds struct {
	Ranges []shard.Range
	IDs    []keyspace.Bounds
}

// PointRead reads one document by position and _id: the R1 case of the price list, EXPRESS_IXSCAN in explain.
type PointRead struct {
	Hash keyspace.Hash
	ID   []byte // key of the record: keystring of _id, after the fields of a ranged shard key
	// Filter excludes other documents that may have the same key: documents with another shard key at the same
	// position, or with null or nothing in it. It is nil if there cannot be any.
	Filter match.Node
}

// RecordScan reads records in key order: a whole collection, or the ranges of a RecordBounds. A whole unsharded
// collection is read in insertion order (catalog.Collection.KeepsInsertionOrder), unless its rows are only counted.
type RecordScan struct {
	Bounds  RecordBounds
	Reverse bool
	Filter  match.Node // nil keeps everything
	// Computed reports that the price list charges the filter as a computed test: it has an expression,
	// JavaScript or a regular expression without an anchor.
	Computed bool
	// Predicates is the number of the filter's predicates that the price list charges: all beyond the query's
	// first.
	Predicates int
	// Seeks is the number of ranges charged per partition. For ranges of positions, only the ranges of the partition
	// are charged.
	Seeks int
	// Sibling reports that visiting the shard is charged to another scan of the same plan, so that it is paid
	// once.
	Sibling bool
	// Times are the intervals of time that the scan of a time-series collection reads, ascending, if Bounds is made from
	// them; explain prints their ends.
	Times []catalog.Times
	// ByID is the scan of the _id_ index that this scan replaces, if records are stored in _id order: explain
	// prints ByID. It is nil otherwise.
	ByID *IndexScan
	// Count reports that rows are only counted: records are not read.
	Count bool
}

// IndexScan reads the entries of one index.
type IndexScan struct {
	Index   *catalog.Index
	Bounds  Bounds
	Key     *KeyBounds // bounds of min and max, which replace Bounds
	Reverse bool
	Filter  match.Node // evaluated on a document rebuilt from the key; nil = none
	Seeks   int
	Sibling bool // visiting the shard is charged to another scan of the plan
	Skips   bool // seeks from key to key instead of into each interval: see Bounds.Spans
	// Distinct is the number of leading fields of a distinct scan: after each row, the scan skips to their next
	// values. 0 reads every entry.
	Distinct int
	// Elements reports that the last of these fields holds elements of arrays, which a distinct scan with Rebuild
	// delivers as values. If the entry is not that of an element that is a scalar or a document, the record is read.
	Elements bool
	// Rebuild makes the operator build a document of the indexed fields from the key, for covered projections and for
	// Filter.
	Rebuild bool
	// Tested, if not nil, selects the index fields that Filter reads, for a scan whose documents are fetched later:
	// Filter is evaluated on a document of these fields.
	Tested []bool
	// NullsDiffer reports that Filter may have different results for null and a missing value, which have the same
	// key, so that the record must be read for such a key. It goes with Tested.
	NullsDiffer bool
	// Computed reports that the price list charges a filter with Tested as a computed test: see RecordScan.
	Computed bool
	// Counted reports that the rows that a filter with Tested keeps are only counted: no document is fetched.
	Counted bool
	// Dedupe reports that a document can have several entries within the bounds. The scan then delivers its
	// first entry only.
	Dedupe bool
	// Count reports that rows are only counted.
	Count bool
	// WithKey adds the key to the row as metadata indexKey.
	WithKey bool
	// At is the path whose values are read of a wildcard index; "" for others.
	At string

	lead int // access.lead
}

// KeyFields returns the paths of the values in an entry of the index, in order, and which of them a document has that is
// made from an entry; only is nil if it has all of them.
func (n *IndexScan) KeyFields() (paths []string, only []bool) {
	paths, only = n.Index.Fields(), n.Tested
	if i := slices.Index(paths, index.WildcardPath); i >= 0 && n.At != "" {
		paths, only = slices.Clone(paths), make([]bool, len(paths))
		paths[i+1], only[i+1] = n.At, true
	}
	return paths, only
}

// KeyBounds holds the bounds of min and max.
type KeyBounds struct {
	keyspace.Bounds
	Min, Max bson.Raw
}

// Fetch reads the record of each row that has none yet, and drops records that do not match the filter.
type Fetch struct {
	Input      Node
	Filter     match.Node // nil keeps everything
	Computed   bool       // Computed and Predicates: see RecordScan
	Predicates int
	// Batch reports that all rows are needed, or the first Rows if Rows is not 0, so that reading ahead wastes nothing.
	Batch bool
	Rows  int64
	// AnyOrder reports that all rows are needed, and that no operator above needs their order.
	AnyOrder bool
}

// Or reads its inputs one after the other and drops duplicate records.
type Or struct {
	Branches []Node
}

// And keeps the rows whose record every input delivers.
type And struct {
	Branches []Node
}

// SortMerge merges inputs that are each in the pattern's order.
type SortMerge struct {
	Pattern  *order.Pattern
	Branches []Node
	// Index, if not nil, is the index that all branches scan, each with other values of the first Fields
	// fields. The branches are then merged by the other fields of their index keys, descending if Reverse,
	// without reading documents.
	Index   *catalog.Index
	Fields  int
	Reverse bool
	// Dedupe drops duplicate records.
	Dedupe bool
}

// TextOr reads the entries of a text index for the words of a search, one word after the other, and delivers
// each record once. If Scores is set, the record carries the sum of its words' scores. Field is the position of
// the word in an index entry; the score of the word follows.
type TextOr struct {
	Branches []Node
	Scores   bool
	Field    int
}

// TextMatch keeps the documents that match a $text search in full. The index alone cannot check phrases,
// negated words and, if requested, case and diacritics.
type TextMatch struct {
	Input  Node
	Index  *catalog.Index
	Text   *match.Text
	Query  *text.Query
	Filter match.Node // the rest of the filter, nil without one
}

// GeoNear finds records by their distance from a point, the nearest first.
type GeoNear struct {
	Index      *catalog.Index
	Field      int    // position of the geometry among the index fields
	Bounds     Bounds // of the other fields
	Near       *match.Near
	Filter     match.Node // the rest of the filter, nil without one
	Computed   bool       // Computed and Predicates: see RecordScan
	Predicates int
}

// Sort sorts rows in memory or on disk; with a Limit it is a top-k sort.
type Sort struct {
	Input   Node
	Pattern *order.Pattern
	Limit   int64 // 0 = all
}

// TimeSort puts the rows of a time-series collection, which are read in the order of their positions, into the order of
// a pattern that begins with the time field: it sorts those with equal times, and those with times that share a position.
type TimeSort struct {
	Input   *RecordScan
	Pattern *order.Pattern
}

// SortKey adds the sort key to rows that an index delivers in order, so that the rows of several shards can be merged
// after a projection, or for $meta: "sortKey".
type SortKey struct {
	Input   Node
	Pattern *order.Pattern
	// Index and Fields, if set, are the index of the rows, and the position among its fields of each part of the
	// pattern: the key of a row without a document is made from its index key.
	Index  *catalog.Index
	Fields []int
}

// Skip drops the first rows.
type Skip struct {
	Input Node
	N     int64
	// Charged reports that a skipped row costs as much as an index entry that is counted: the rows are index entries
	// whose documents are fetched later.
	Charged bool
	// Merged reports that the rows of all shards are skipped together, after they were merged: see skipAfterMerge. The
	// nodes above are executed there too.
	Merged bool
}

// IsExpress reports whether the projection keeps or drops whole fields of a document that is read by its key. MongoDB has
// no stage for it, so that explain shows the read only.
func (n *Project) IsExpress() bool {
	_, ok := n.Input.(*PointRead)
	return ok && n.Simple
}

// Limit ends after N rows.
type Limit struct {
	Input Node
	N     int64
}

// Project transforms each document.
type Project struct {
	Input     Node
	Transform project.Transform
	Covered   bool
	Simple    bool           // keeps or drops whole top-level fields
	Pattern   *order.Pattern // pattern of the sort keys, for their metadata
	Metas     uint32         // kinds of metadata that the projection may read (expr.MetaSortKey and so on), as bits
}

// ReturnKey replaces each document by the index key that it was found by, or by an empty document without an index.
// Manual: reference/method/cursor.returnKey.
type ReturnKey struct{ Input Node }

// RecordID appends the record's number to each document, as $recordId.
// Manual: reference/method/cursor.showRecordId.
type RecordID struct{ Input Node }

// EOF delivers nothing: the filter matches nothing, or the collection does not exist.
type EOF struct{}

// Stage names, as in MongoDB's explain output.
// Manual: reference/explain-results.
func (*PointRead) Stage() string { return "EXPRESS_IXSCAN" }
func (n *RecordScan) Stage() string {
	switch {
	case n.Count && n.ByID != nil:
		return "COUNT_SCAN"
	case n.ByID != nil:
		return "FETCH"
	case n.Bounds.Ranges != nil:
		return "CLUSTERED_IXSCAN"
	}
	return "COLLSCAN"
}
func (n *IndexScan) Stage() string {
	switch {
	case n.Distinct > 0:
		return "DISTINCT_SCAN"
	case n.Count:
		return "COUNT_SCAN"
	}
	return "IXSCAN"
}
func (*Fetch) Stage() string     { return "FETCH" }
func (*Or) Stage() string        { return "OR" }
func (*And) Stage() string       { return "AND_HASH" }
func (*SortMerge) Stage() string { return "SORT_MERGE" }
func (n *TextOr) Stage() string {
	if n.Scores {
		return "TEXT_OR"
	}
	return "OR"
}
func (*TextMatch) Stage() string { return "TEXT_MATCH" }
func (n *GeoNear) Stage() string {
	if n.Index.Flat != nil {
		return "GEO_NEAR_2D"
	}
	return "GEO_NEAR_2DSPHERE"
}
func (*Sort) Stage() string { return "SORT" }
func (n *TimeSort) Stage() string {
	if n.IsPlain() {
		return n.Input.Stage()
	}
	return "SORT"
}
func (*SortKey) Stage() string { return "SORT_KEY_GENERATOR" }
func (*Skip) Stage() string    { return "SKIP" }
func (*Limit) Stage() string   { return "LIMIT" }
func (n *Project) Stage() string {
	switch {
	case n.Covered:
		return "PROJECTION_COVERED"
	case n.Simple:
		return "PROJECTION_SIMPLE"
	}
	return "PROJECTION_DEFAULT"
}
func (*ReturnKey) Stage() string { return "RETURN_KEY" }
func (*RecordID) Stage() string  { return "PROJECTION_DEFAULT" }
func (*EOF) Stage() string       { return "EOF" }

// Inputs returns the inputs of each node.
func (*PointRead) Inputs() []Node { return nil }
func (n *RecordScan) Inputs() []Node {
	if n.ByID != nil && !n.Count {
		return []Node{n.ByID}
	}
	return nil
}
func (*IndexScan) Inputs() []Node   { return nil }
func (n *Fetch) Inputs() []Node     { return []Node{n.Input} }
func (n *Or) Inputs() []Node        { return n.Branches }
func (n *And) Inputs() []Node       { return n.Branches }
func (n *SortMerge) Inputs() []Node { return n.Branches }
func (n *TextOr) Inputs() []Node    { return n.Branches }
func (n *TextMatch) Inputs() []Node { return []Node{n.Input} }
func (n *GeoNear) Inputs() []Node   { return nil }
func (n *Sort) Inputs() []Node      { return []Node{n.Input} }
func (n *TimeSort) Inputs() []Node  { return []Node{n.Input} }
func (n *SortKey) Inputs() []Node   { return []Node{n.Input} }
func (n *Skip) Inputs() []Node      { return []Node{n.Input} }
func (n *Limit) Inputs() []Node     { return []Node{n.Input} }
func (n *Project) Inputs() []Node   { return []Node{n.Input} }
func (n *ReturnKey) Inputs() []Node { return []Node{n.Input} }
func (n *RecordID) Inputs() []Node  { return []Node{n.Input} }
func (*EOF) Inputs() []Node         { return nil }
