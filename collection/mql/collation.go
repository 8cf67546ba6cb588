package mql

// Collation is a parsed collation document: an order of strings by language.
// It implements bson.StringOrder. Immutable and safe for concurrent use.
// Manual: reference/collation.
type Collation struct {
	*collator
}
