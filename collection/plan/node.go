package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/project"
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

// Place is where records are looked for: hash positions and ranges of _id. A
// nil Hashes means every position of the shard; otherwise only the listed ones
// that the shard owns. A nil IDs means every _id; several are ascending and do
// not overlap.
type Place struct {
	Hashes []keyspace.Hash
	IDs    []keyspace.Bounds
}

// PointRead reads single documents by position and _id: the R1 case of the
// price list, EXPRESS in explain.
type PointRead struct {
	Hash keyspace.Hash
	ID   []byte // keystring of _id
}

// RecordScan reads records in key order: a whole collection, or the ranges of a
// Place.
type RecordScan struct {
	Place   Place
	Reverse bool
	Filter  match.Node // nil keeps everything
	// Seeks is the number of ranges charged per partition, at least 1.
	Seeks int
	// ByID is the scan of the _id_ index that this one stands for, when the
	// record key is that index: explain shows it as such. nil otherwise.
	ByID *IndexScan
}

// IndexScan reads the entries of one index.
type IndexScan struct {
	Index   *catalog.Index
	Bounds  Bounds
	Reverse bool
	Filter  match.Node // looked at on a document rebuilt from the key; nil = none
	Seeks   int
	// Distinct skips to the next value of the first field after each row.
	Distinct bool
	// Rebuild makes the operator build a document with the indexed fields from
	// the key: for covered projections and Filter.
	Rebuild bool
}

// Fetch reads the record of each row and drops those the filter refuses.
type Fetch struct {
	Input  Node
	Filter match.Node // nil keeps everything
}

// Or reads its inputs one after the other and drops rows seen before.
type Or struct {
	Branches []Node
}

// And keeps the rows whose record every input delivers.
type And struct {
	Branches []Node
}

// SortMerge merges inputs that are each in the pattern's order, dropping rows
// seen before.
type SortMerge struct {
	Pattern  *order.Pattern
	Branches []Node
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
}

// EOF delivers nothing: the filter can match nothing, or the collection is
// missing.
type EOF struct{}

// Stage names, as in MongoDB's explain output.
// Manual: reference/explain-results.
func (*PointRead) Stage() string { return "EXPRESS_IXSCAN" }
func (n *RecordScan) Stage() string {
	switch {
	case n.ByID != nil:
		return "FETCH"
	case n.Place.Hashes != nil:
		return "CLUSTERED_IXSCAN"
	}
	return "COLLSCAN"
}
func (n *IndexScan) Stage() string {
	if n.Distinct {
		return "DISTINCT_SCAN"
	}
	return "IXSCAN"
}
func (*Fetch) Stage() string     { return "FETCH" }
func (*Or) Stage() string        { return "OR" }
func (*And) Stage() string       { return "AND_SORTED" }
func (*SortMerge) Stage() string { return "SORT_MERGE" }
func (*Sort) Stage() string      { return "SORT" }
func (*SortKey) Stage() string   { return "SORT_KEY_GENERATOR" }
func (*Skip) Stage() string      { return "SKIP" }
func (*Limit) Stage() string     { return "LIMIT" }
func (n *Project) Stage() string {
	if n.Covered {
		return "PROJECTION_COVERED"
	}
	return "PROJECTION_DEFAULT"
}
func (*EOF) Stage() string { return "EOF" }

// Inputs of each node.
func (*PointRead) Inputs() []Node { return nil }
func (n *RecordScan) Inputs() []Node {
	if n.ByID != nil {
		return []Node{n.ByID}
	}
	return nil
}
func (*IndexScan) Inputs() []Node   { return nil }
func (n *Fetch) Inputs() []Node     { return []Node{n.Input} }
func (n *Or) Inputs() []Node        { return n.Branches }
func (n *And) Inputs() []Node       { return n.Branches }
func (n *SortMerge) Inputs() []Node { return n.Branches }
func (n *Sort) Inputs() []Node      { return []Node{n.Input} }
func (n *SortKey) Inputs() []Node   { return []Node{n.Input} }
func (n *Skip) Inputs() []Node      { return []Node{n.Input} }
func (n *Limit) Inputs() []Node     { return []Node{n.Input} }
func (n *Project) Inputs() []Node   { return []Node{n.Input} }
func (*EOF) Inputs() []Node         { return nil }
