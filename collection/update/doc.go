// Package update is the update language: it parses an update once per command
// into a Program and applies it to raw documents.
//
//	{$set: …, $inc: …}  operators   ─┐
//	{a: 1, b: 2}        replacement  ├─ Parse ──►  *Program ── Apply(doc) ──►  new document
//	[{$set: …}, …]      pipeline    ─┘                    └── Upsert(filter) ──►  document to insert
//
// Operators are kept as one tree over all paths of the update, a node per path
// component, an action at each end. Applying it walks the document and the tree
// together and copies everything between the touched fields as runs of bytes.
// The tree also is the conflict check: no path may begin with another.
//
// A node's children are kept in the order in which new fields are created:
// array positions by number, then names by their bytes.
//
// Operators is the table; each operator has a file of its own, family first.
//
// Glossary. Action: what an operator does at the end of a path, old value to new
// value. Viable: a path that leads through documents and array positions only.
// Delta: what an update changed, as a change stream reports it.
//
// Source of the behaviour: Manual: reference/operator/update; error codes as
// observed on MongoDB.
package update
