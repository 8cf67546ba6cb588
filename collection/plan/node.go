package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/project"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/text"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Node is one step of a solution. Immutable, safe for concurrent use.
type Node interface {
	// Stage is the name that explain prints, such as IXSCAN.
	Stage() string
	// Inputs are the nodes it reads from.
	Inputs() []Node
	// Describe appends the fields of explain that the node itself knows, without
	// stage and inputs.
	Describe(b *bson.Builder)
}

// RecordBounds is where records are looked for: ranges of positions, or ranges of _id in an
// unsharded collection. A nil Ranges means every position of the shard; otherwise
// only the listed ones that the shard owns. A nil IDs means every _id. Several are
// ascending and do not overlap.
type RecordBounds struct {
	Ranges []shard.Range
	IDs    []keyspace.Bounds
}

// PointRead reads single documents by position and _id: the R1 case of the
// price list, EXPRESS in explain.
type PointRead struct {
	Hash keyspace.Hash
	ID   []byte // id of the record: keystring of _id, after those of a ranged shard key
	// Filter tells the document from others that may be there: of another shard key
	// at the same position. nil where there are none.
	Filter match.Node
}

// RecordScan reads records in key order: a whole collection, or the ranges of a
// RecordBounds.
type RecordScan struct {
	Bounds  RecordBounds
	Reverse bool
	Filter  match.Node // nil keeps everything
	// Computed says that the filter is a computed test of the price list.
	Computed bool
	// Predicates is the number of the filter's predicates that the price list charges: those beyond the query's first.
	Predicates int
	// Seeks is the number of ranges charged per partition, at least 1; of ranges of
	// positions those that the partition has.
	Seeks int
	// Sibling says that another scan pays for the visit of the shard.
	Sibling bool
	// ByID is the scan of the _id_ index that this one stands for, when the
	// record key is that index: explain shows it as such. nil otherwise.
	ByID *IndexScan
	// Count says that rows are only counted: records are not read.
	Count bool
}

// IndexScan reads the entries of one index.
type IndexScan struct {
	Index   *catalog.Index
	Bounds  Bounds
	Key     *KeyBounds // instead of Bounds: min and max
	Reverse bool
	Filter  match.Node // looked at on a document rebuilt from the key; nil = none
	Seeks   int
	Sibling bool // another scan pays for the visit of the shard
	Skips   bool // from key to key instead of into each interval: see Bounds.Spans
	// Distinct skips to the next value of the first so many fields after each
	// row; 0 reads every entry.
	Distinct int
	// Rebuild makes the operator build a document with the indexed fields from
	// the key: for covered projections and Filter.
	Rebuild bool
	// Dedupe says that a document can have several entries within the bounds and
	// must come once.
	Dedupe bool
	// Count says that rows are only counted.
	Count bool
	// WithKey puts the key on the row, as metadata indexKey.
	WithKey bool
}

// KeyBounds are the bounds that min and max give.
type KeyBounds struct {
	keyspace.Bounds
	Min, Max bson.Raw
}

// Fetch reads the record of each row that comes without one and drops those the
// filter refuses.
type Fetch struct {
	Input      Node
	Filter     match.Node // nil keeps everything
	Computed   bool       // see RecordScan, as Predicates
	Predicates int
	// Batch says that all rows are wanted, so that reading ahead is no waste.
	Batch bool
}

// Or reads its inputs one after the other and drops rows seen before.
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
	// Index, if not nil, is what all branches scan, each with other values of the
	// first Fields fields: they are merged by the rest of their keys, descending
	// if Reverse, and nothing else is read for it.
	Index   *catalog.Index
	Fields  int
	Reverse bool
	// Dedupe drops rows seen before.
	Dedupe bool
}

// TextOr reads the entries of the words of a search one word after the other and
// delivers each record once, with the sum of its scores if Scores is set. Field
// is the position of the word in the entries; its score follows.
type TextOr struct {
	Branches []Node
	Scores   bool
	Field    int
}

// TextMatch keeps the documents that a search means: the index knows neither
// phrases nor negations nor, if asked for, case and diacritics.
type TextMatch struct {
	Input  Node
	Index  *catalog.Index
	Text   *match.Text
	Query  *text.Query
	Filter match.Node // the rest of the filter, nil without one
}

// GeoNear searches records by their distance from a point, the nearest first.
type GeoNear struct {
	Index      *catalog.Index
	Field      int    // position of the geometry among the fields
	Bounds     Bounds // of the other fields
	Near       *match.Near
	Filter     match.Node // the rest of the filter, nil without one
	Computed   bool       // see RecordScan, as Predicates
	Predicates int
}

// Sort orders rows in memory or on disk; with a Limit it keeps only the first.
type Sort struct {
	Input   Node
	Pattern *order.Pattern
	Limit   int64 // 0 = all
}

// SortKey puts the sort key on rows that an index delivers in order, so that
// the rows of several shards can be merged after a projection.
type SortKey struct {
	Input   Node
	Pattern *order.Pattern
}

// Skip drops the first rows.
type Skip struct {
	Input Node
	N     int64
}

// Limit ends after so many rows.
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
	Pattern   *order.Pattern // what sort keys are made of, for their metadata
	Metas     uint32         // kinds of metadata, expr.MetaSortKey and so on, that are read, as bits
}

// ReturnKey replaces each document by the index key that led to it, nothing if
// no index did.
// Manual: reference/method/cursor.returnKey.
type ReturnKey struct{ Input Node }

// RecordID appends the record's number to each document, as $recordId.
// Manual: reference/method/cursor.showRecordId.
type RecordID struct{ Input Node }

// EOF delivers nothing: the filter can match nothing, or the collection is
// missing.
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
func (*Sort) Stage() string    { return "SORT" }
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

// Inputs of each node.
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
func (n *SortKey) Inputs() []Node   { return []Node{n.Input} }
func (n *Skip) Inputs() []Node      { return []Node{n.Input} }
func (n *Limit) Inputs() []Node     { return []Node{n.Input} }
func (n *Project) Inputs() []Node   { return []Node{n.Input} }
func (n *ReturnKey) Inputs() []Node { return []Node{n.Input} }
func (n *RecordID) Inputs() []Node  { return []Node{n.Input} }
func (*EOF) Inputs() []Node         { return nil }
